/* Threads for tasks of some ten microseconds, which need no lock of the interpreter.

   A round of boosting has some twenty lists of tasks, and a few for each leaf. Threads that sleep
   between two lists cost more than they save, and threads that spin until the next fit take the
   processor from others. Here they spin for some 50 microseconds and then sleep. A helper that has
   waited in vain spins for half as long the next time: beside other busy processes it would take
   their time. Whoever has a list works on it too, and never waits for a thread that has not begun,
   so that a list ends even where all other threads are busy or could not be started.

   A list has a share for each thread. Whoever has the list begins with the first share, and helpers
   with the others in the order in which they arrive: of two threads each has the same share of every
   list, whose rows and columns are in its cache. Then they take tasks from the shares of others.

   Threads do not survive a fork: the child process starts its own when it first needs them. */
#ifndef ENSEMBLE_THREADS_H
#define ENSEMBLE_THREADS_H

#include <stddef.h>

/* Does one task; `thread` is below the number of threads that work on the list. */
typedef void (*TaskFunction)(void *context, ptrdiff_t task, int thread);

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef volatile LONG64 Counter;
#define ADD_TO(counter, change) InterlockedExchangeAdd64(&(counter), (change))
#define VALUE_OF(counter) InterlockedExchangeAdd64(&(counter), 0)
#define PAUSE() YieldProcessor()
typedef SRWLOCK Lock;
typedef CONDITION_VARIABLE Condition;
#define NO_LOCK SRWLOCK_INIT
#define NO_CONDITION CONDITION_VARIABLE_INIT
#define LOCK(lock) AcquireSRWLockExclusive(&(lock))
#define UNLOCK(lock) ReleaseSRWLockExclusive(&(lock))
#define SLEEP(condition, lock) SleepConditionVariableSRW(&(condition), &(lock), INFINITE, 0)
#define WAKE(condition) WakeConditionVariable(&(condition))
#define WAKE_ALL(condition) WakeAllConditionVariable(&(condition))

static double seconds(void)
{
    LARGE_INTEGER ticks, a_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&a_second);
    return (double)ticks.QuadPart / (double)a_second.QuadPart;
}
#else
#include <pthread.h>
#include <signal.h>
#include <time.h>

typedef ptrdiff_t Counter;
#define ADD_TO(counter, change) __atomic_fetch_add(&(counter), (change), __ATOMIC_ACQ_REL)
#define VALUE_OF(counter) __atomic_load_n(&(counter), __ATOMIC_ACQUIRE)
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("isb" ::: "memory")
#else
#define PAUSE() ((void)0)
#endif
typedef pthread_mutex_t Lock;
typedef pthread_cond_t Condition;
#define NO_LOCK PTHREAD_MUTEX_INITIALIZER
#define NO_CONDITION PTHREAD_COND_INITIALIZER
#define LOCK(lock) pthread_mutex_lock(&(lock))
#define UNLOCK(lock) pthread_mutex_unlock(&(lock))
#define SLEEP(condition, lock) pthread_cond_wait(&(condition), &(lock))
#define WAKE(condition) pthread_cond_signal(&(condition))
#define WAKE_ALL(condition) pthread_cond_broadcast(&(condition))

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
#endif

enum { MOST_HELPERS = 255 };

/* Wait for some time at most until a condition holds. */
#ifndef SPIN_SECONDS
#define SPIN_SECONDS 50e-6
#endif
#define LEAST_SPIN_SECONDS (SPIN_SECONDS / 16)
#define SPIN_UNTIL(condition, longest)                                                          \
    for (double end = seconds() + (longest); !(condition) && seconds() < end;)                  \
    PAUSE()

/* Tasks that one thread begins with; alone in its line of the cache. */
typedef struct {
    Counter next; /* the first one that nobody has taken */
    char rest[128 - sizeof(Counter)];
} Share;

/* A list of tasks. All but the counters is read and written under the lock of the pool. */
typedef struct TaskList {
    TaskFunction function;
    void *context;
    ptrdiff_t n_tasks;
    Share *shares;
    int n_shares;
    Counter at_work; /* helpers that have not finished with the list */
    int n_begun, n_wanted;
    struct TaskList *after;
} TaskList;

typedef struct {
    Lock lock;
    Condition arrived, finished;
    TaskList *first; /* of those that still want helpers */
    Counter n_lists; /* that have ever arrived */
    int n_helpers, n_asleep, knows_of_forks;
} Pool;

static Pool pool = {NO_LOCK, NO_CONDITION, NO_CONDITION, NULL, 0, 0, 0, 0};

static void work_on(TaskList *list, int thread)
{
    for (int k = 0; k < list->n_shares; k++) {
        int share = (thread + k) % list->n_shares;
        ptrdiff_t end = (share + 1) * list->n_tasks / list->n_shares, task;
        while ((task = (ptrdiff_t)ADD_TO(list->shares[share].next, 1)) < end)
            list->function(list->context, task, thread);
    }
}

static void leave_queue(TaskList *list)
{
    for (TaskList **at = &pool.first; *at; at = &(*at)->after)
        if (*at == list) {
            *at = list->after;
            return;
        }
}

/* The life of a helper. */
static void help(void)
{
    double patience = SPIN_SECONDS;
    LOCK(pool.lock);
    for (;;) {
        TaskList *list = pool.first;
        if (list) {
            int thread = ++list->n_begun;
            ADD_TO(list->at_work, 1);
            if (thread == list->n_wanted)
                leave_queue(list);
            UNLOCK(pool.lock);
            work_on(list, thread);
            LOCK(pool.lock);
            /* The last access: whoever has the list looks at this under the lock before it goes. */
            if (ADD_TO(list->at_work, -1) == 1)
                WAKE_ALL(pool.finished);
            continue;
        }
        Counter seen = pool.n_lists;
        UNLOCK(pool.lock);
        SPIN_UNTIL(VALUE_OF(pool.n_lists) != seen, patience);
        LOCK(pool.lock);
        if (pool.n_lists != seen)
            patience = SPIN_SECONDS;
        else if (patience > LEAST_SPIN_SECONDS)
            patience /= 2;
        while (!pool.first) {
            pool.n_asleep++;
            SLEEP(pool.arrived, pool.lock);
            pool.n_asleep--;
        }
    }
}

#if defined(_WIN32)
static DWORD WINAPI helper(LPVOID unused)
{
    (void)unused;
    help();
    return 0;
}

static int start_helper(void)
{
    HANDLE thread = CreateThread(NULL, 0, helper, NULL, 0, NULL);
    if (thread)
        CloseHandle(thread);
    return thread != NULL;
}

static void prepare_for_forks(void) {}
#else
static void *helper(void *unused)
{
    help();
    return unused;
}

static void forget_helpers(void)
{
    Pool none = {NO_LOCK, NO_CONDITION, NO_CONDITION, NULL, 0, 0, 0, 1};
    pool = none;
}

/* When the module is imported: at the first list a fork could come before it. Without it there are
   no helpers. */
static void prepare_for_forks(void)
{
    pool.knows_of_forks = !pthread_atfork(NULL, NULL, forget_helpers);
}

/* Signals are for the threads of the interpreter, but those of its own errors. */
static int start_helper(void)
{
    pthread_t thread;
    pthread_attr_t detached;
    sigset_t all, before;
    int failed;
    if (!pool.knows_of_forks || pthread_attr_init(&detached))
        return 0;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&thread, &detached, helper, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    return !failed;
}
#endif

/* Do all tasks, by this thread and at most n_threads - 1 others; return when all are done. */
static void do_tasks(TaskFunction function, void *context, ptrdiff_t n_tasks, int n_threads)
{
    Share shares[MOST_HELPERS + 1];
    TaskList list = {function, context, n_tasks, shares, 1, 0, 0, 0, NULL};
    TaskList **last;
    if (n_threads > n_tasks)
        n_threads = (int)n_tasks;
    list.n_wanted = (n_threads - 1 < MOST_HELPERS ? n_threads - 1 : MOST_HELPERS);
    if (list.n_wanted > 0)
        list.n_shares = list.n_wanted + 1;
    for (int k = 0; k < list.n_shares; k++)
        shares[k].next = k * n_tasks / list.n_shares;
    if (list.n_wanted < 1) {
        work_on(&list, 0);
        return;
    }
    LOCK(pool.lock);
    while (pool.n_helpers < list.n_wanted && start_helper())
        pool.n_helpers++;
    for (last = &pool.first; *last; last = &(*last)->after)
        ;
    *last = &list;
    ADD_TO(pool.n_lists, 1);
    for (int k = 0; k < list.n_wanted && k < pool.n_asleep; k++)
        WAKE(pool.arrived);
    UNLOCK(pool.lock);
    work_on(&list, 0);
    SPIN_UNTIL(VALUE_OF(list.at_work) == 0, SPIN_SECONDS);
    LOCK(pool.lock);
    leave_queue(&list);
    while (VALUE_OF(list.at_work) > 0)
        SLEEP(pool.finished, pool.lock);
    UNLOCK(pool.lock);
}

#endif
