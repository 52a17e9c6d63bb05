/* The growth of one tree on ranks, included once for each size of a rank; see exact_trees.h. */

/* A node of few rows, in which rows have local numbers. */
typedef struct {
    int m;
    const RANK *code[SMALL_NODE];     /* the ranks of each row */
    Target target[SMALL_NODE];
    /* Their order so far: by the low bits of `sorted`, or of `place` where it is NULL. */
    int32_t place[SMALL_NODE];
    const int32_t *sorted;
    int32_t unsorted[SMALL_NODE + 8], keys[2][SMALL_NODE + 8];
    int turn;
} FOR_RANK(FewRows);

static void FOR_RANK(take_few)(
    const Exact *g, FOR_RANK(FewRows) *few, const int32_t *rows, int m)
{
    const RANK *by_row = g->columns.by_row;
    few->m = m;
    few->turn = 0;
    few->sorted = NULL;
    for (int k = 0; k < m; k++) {
        few->code[k] = by_row + (size_t)rows[k] * g->columns.p;
        few->target[k] = g->target[rows[k]];
        few->place[k] = k;
    }
    for (int k = m; k < SMALL_NODE + 8; k++)
        few->unsorted[k] = 0x7FFFFFFF;
}

static void FOR_RANK(write_places)(FOR_RANK(FewRows) *few)
{
    if (few->sorted)
        for (int k = 0; k < few->m; k++)
            few->place[k] = few->sorted[k] & PLACES;
    few->sorted = NULL;
}

static int FOR_RANK(search_few)(
    Exact *g, FOR_RANK(FewRows) *few, int f, const NodeSums *all, BestCut *best)
{
    const RankedColumns *c = &g->columns;
    const float *near = near_values(c, f);
    int m = few->m, has_ties = 0, is_near_any = 0;
    if (m == 2) {
        int32_t a = few->code[0][f], b = few->code[1][f], low = a < b ? a : b, high = a < b ? b : a;
        if (a == b)
            return CONSTANT;
        few->place[0] = a > b;
        few->place[1] = a < b;
        if (tied(near, low, high))
            return CONSTANT;
        return is_better(best, g->alone[a > b], low, high) ? CUT : NO_CUT;
    }
    int keeps_order = g->rules.kind != COUNTS, may_tie = !is_untied(c, f);
    int32_t *unsorted = few->unsorted, *keys = few->keys[few->turn], ids[SMALL_NODE], rank[SMALL_NODE];
    int32_t first = few->code[0][f], varies = 0;
    if (keeps_order && may_tie) {
        FOR_RANK(write_places)(few);
        for (int k = 0; k < m; k++) {
            int32_t r = few->code[few->place[k]][f];
            varies |= r ^ first;
            unsorted[k] = r << 6 | k;
        }
    } else
        for (int k = 0; k < m; k++) {
            int32_t r = few->code[k][f];
            varies |= r ^ first;
            unsorted[k] = r << 6 | k;
        }
    if (!varies)
        return CONSTANT;
    sort_few(unsorted, m, keys);
    for (int k = 0; k < m; k++) {
        ids[k] = keys[k] & PLACES;
        rank[k] = keys[k] >> 6;
    }
    for (int k = 1; (may_tie || g->distinct) && k < m; k++)
        has_ties |= rank[k] == rank[k - 1];
    for (int k = 0; near && k < m - 1; k++)
        is_near_any |= is_near(c, f, rank[k]);
    if (keeps_order && may_tie) {
        if (has_ties && m > g->rules.few_keys) {
            for (int k = 0; k < m; k++)
                g->keys[k] = (uint64_t)(unsorted[k] >> 6) << 32 | (uint32_t)few->place[k];
            sort_as_sklearn(g->keys, m, &g->rules, NULL);
            for (int k = 0; k < m; k++)
                ids[k] = (int32_t)(uint32_t)g->keys[k];
        } else
            for (int k = 0; k < m; k++)
                ids[k] = few->place[ids[k]];
        memcpy(few->place, ids, m * sizeof(int32_t));
    } else if (keeps_order) {
        few->sorted = keys;
        few->turn = !few->turn;
    }
    if (!is_near_any)
        near = NULL;
    else if (tied(near, rank[0], rank[m - 1]))
        return CONSTANT;
    return scan(g, few->target, ids, rank, m, near, has_ties || near, all, best);
}

/* The rows of a node in the order of their ranks, by marks of the ranks that occur: no comparison.
   Of equal ranks the last row counts, or all of them, in any order, where they are `chained`.
   Returns how many were written to g->order and g->rank. */
static inline int FOR_RANK(order_by_marks)(
    Exact *g, const RANK *col, int n_ranks, const int32_t *rows, int m, const int chained)
{
    int32_t *order = g->order, *rank = g->rank, *of_rank = g->of_rank, *before = g->before;
    uint64_t *marks = g->marks, *marked = g->marked;
    int n_words = (n_ranks + 63) >> 6, sparse = n_words > 128 && m < n_words / 4, total = 0;
    for (int k = 0; k < m; k++) {
        int32_t i = rows[k], r = col[i];
        uint64_t bit = (uint64_t)1 << (r & 63);
        if (chained)
            before[i] = marks[r >> 6] & bit ? of_rank[r] : -1;
        marks[r >> 6] |= bit;
        of_rank[r] = i;
        if (sparse)
            marked[r >> 12] |= (uint64_t)1 << ((r >> 6) & 63);
    }
    for (int b = 0; b < (n_words + 63) >> 6; b++) {
        uint64_t words = sparse ? marked[b] : ~(uint64_t)0;
        int last = n_words - (b << 6);
        if (last < 64 && !sparse)
            words >>= 64 - last;
        marked[b] = 0;
        for (; words; words &= words - 1) {
            int a = (b << 6) + lowest_of(words);
            uint64_t bits = marks[a];
            marks[a] = 0;
            for (; bits; bits &= bits - 1) {
                int32_t r = (a << 6) + lowest_of(bits), i = of_rank[r];
                do {
                    rank[total] = r;
                    order[total++] = i;
                    i = chained ? before[i] : -1;
                } while (i >= 0);
            }
        }
    }
    return total;
}

/* Classes of whole weights where many rows share a value: by sums for each value. */
static int FOR_RANK(search_cells)(
    Exact *g, int f, const int32_t *rows, int m, const NodeSums *all, BestCut *best)
{
    const RANK *col = (const RANK *)g->columns.by_column + (size_t)f * g->columns.n;
    const float *near = near_values(&g->columns, f);
    int n_ranks = (int)(g->columns.first[f + 1] - g->columns.first[f]), K = g->rules.n_classes;
    int64_t *cells = g->cells, *left = g->left_counts, a = 0, b = all->square, w = 0;
    int64_t whole = (int64_t)all->w;
    int32_t *n_rows = g->rows_of_cell, last = -1, low = 0, high = n_ranks - 1;
    int found = NO_CUT, at = 0;
    memset(cells, 0, (size_t)n_ranks * K * sizeof(int64_t));
    memset(n_rows, 0, (size_t)n_ranks * sizeof(int32_t));
    for (int k = 0; k < m; k++) {
        int32_t i = rows[k], r = col[i];
        cells[(size_t)r * K + g->target[i].count.label] += g->target[i].count.w;
        n_rows[r]++;
    }
    while (!n_rows[low])
        low++;
    while (!n_rows[high])
        high--;
    if (tied(near, low, high))
        return CONSTANT;
    memset(left, 0, K * sizeof(int64_t));
    for (int32_t r = low; r <= high; r++) {
        if (!n_rows[r])
            continue;
        if (last >= 0 && !tied(near, last, r)
            && may_be_leaves(&g->rules, at, m - at, (double)w, (double)(whole - w))
            && try_counts(best, a, b, w, whole - w, last, r) == CUT)
            found = CUT;
        for (int k = 0; k < K; k++) {
            int64_t more = cells[(size_t)r * K + k];
            if (more)
                move_count(k, more, g->whole_counts, left, &a, &b);
            w += more;
        }
        at += n_rows[r];
        last = r;
    }
    return found;
}

static int FOR_RANK(search)(
    Exact *g, int f, int32_t *rows, int m, const NodeSums *all, BestCut *best)
{
    const RankedColumns *c = &g->columns;
    const RANK *col = (const RANK *)c->by_column + (size_t)f * c->n;
    const float *near = near_values(c, f);
    int32_t *order = g->order, *rank = g->rank;
    int n_ranks = (int)(c->first[f + 1] - c->first[f]), has_ties = 0, is_near_any = 0;
    if (g->rules.kind == COUNTS) {
        if ((int64_t)n_ranks * g->rules.n_classes <= 2 * (int64_t)m)
            return FOR_RANK(search_cells)(g, f, rows, m, all, best);
        FOR_RANK(order_by_marks)(g, col, n_ranks, rows, m, !is_untied(c, f));
    } else {
        int found = 0;
        if (!g->distinct && has_few_ties(c, f)) {
            /* Where few rows share a value, perhaps none of the node does. */
            found = FOR_RANK(order_by_marks)(g, col, n_ranks, rows, m, 0);
            if (found == 1)
                return CONSTANT;
        }
        if (found < m) {
            uint64_t *keys = g->keys;
            int32_t first = col[rows[0]], varies = 0;
            for (int k = 0; k < m; k++) {
                int32_t r = col[rows[k]];
                varies |= r ^ first;
                keys[k] = (uint64_t)r << 32 | (uint32_t)rows[k];
            }
            if (!varies)
                return CONSTANT;
            sort_as_sklearn(keys, m, &g->rules, NULL);
            for (int k = 0; k < m; k++) {
                order[k] = (int32_t)(uint32_t)keys[k];
                rank[k] = (int32_t)KEY(keys[k]);
            }
            has_ties = 1;
        }
        memcpy(rows, order, m * sizeof(int32_t));
    }
    for (int k = 0; near && k < m - 1; k++)
        is_near_any |= is_near(c, f, rank[k]);
    if (!is_near_any)
        near = NULL;
    if (tied(near, rank[0], rank[m - 1]))
        return CONSTANT;
    return scan(g, g->target, order, rank, m, near, has_ties || near, all, best);
}

/* The best cut by rough sums. */
static int FOR_RANK(search_roughly)(
    Exact *g, int f, const int32_t *distinct, int n_distinct, int m, const NodeSums *all,
    double margin, BestCut *best)
{
    const RankedColumns *c = &g->columns;
    const RANK *col = (const RANK *)c->by_column + (size_t)f * c->n;
    const float *near = near_values(c, f);
    const int32_t *rank = g->rank;
    int n_ranks = (int)(c->first[f + 1] - c->first[f]), has_ties = 0, is_near_any = 0;
    if (is_untied(c, f))
        FOR_RANK(order_by_marks)(g, col, n_ranks, distinct, n_distinct, 0);
    else {
        FOR_RANK(order_by_marks)(g, col, n_ranks, distinct, n_distinct, 1);
        for (int k = 1; k < n_distinct; k++)
            has_ties |= rank[k] == rank[k - 1];
    }
    if (rank[0] == rank[n_distinct - 1])
        return CONSTANT;
    g->sorted_by[g->n_sorted_by++] = 2 * f + has_ties;
    for (int k = 0; near && k < n_distinct - 1; k++)
        is_near_any |= is_near(c, f, rank[k]);
    if (!is_near_any)
        near = NULL;
    if (tied(near, rank[0], rank[n_distinct - 1]))
        return CONSTANT;
    return scan_roughly(g, n_distinct, m, near, has_ties || near, all, margin, best);
}

/* Put the rows in the order in which scikit-learn's sorts by one feature after the other leave them.
   It is known behind the last feature without ties; from there on, its sorts are repeated where they
   decide on tied rows. */
static void FOR_RANK(sort_rows)(
    Exact *g, int32_t *rows, int m, const int32_t *distinct, int n_distinct)
{
    const RankedColumns *c = &g->columns;
    int32_t *sorted = g->sorted, *n_tied = g->n_tied, *order = g->order, *rank = g->rank;
    int first = g->n_sorted_by - 1;
    while (first > 0 && g->sorted_by[first] & 1)
        first--;
    for (int j = first; j < g->n_sorted_by; j++) {
        int f = g->sorted_by[j] >> 1, has_ties = g->sorted_by[j] & 1, at = 0, n = 0;
        const RANK *col = (const RANK *)c->by_column + (size_t)f * c->n;
        int n_ranks = (int)(c->first[f + 1] - c->first[f]);
        FOR_RANK(order_by_marks)(g, col, n_ranks, distinct, n_distinct, has_ties);
        for (int k = 0; k < n_distinct; k++) {
            int is_tied = (k > 0 && rank[k] == rank[k - 1])
                || (k < n_distinct - 1 && rank[k] == rank[k + 1]);
            for (int copy = g->whole_row[order[k]].n_copies; copy > 0; copy--) {
                n_tied[at] = n;
                n += is_tied;
                sorted[at++] = order[k];
            }
        }
        n_tied[m] = n;
        if (has_ties) {
            for (int k = 0; k < m; k++)
                g->keys[k] = (uint64_t)col[rows[k]] << 32 | (uint32_t)rows[k];
            sort_as_sklearn(g->keys, m, &g->rules, n_tied);
            for (int k = 0; k < m; k++)
                if (n_tied[k + 1] > n_tied[k])
                    sorted[k] = (int32_t)(uint32_t)g->keys[k];
        }
        memcpy(rows, sorted, m * sizeof(int32_t));
    }
}

/* The feature of the best cut, or -1. */
static int FOR_RANK(best_feature)(Exact *g, NodeTask *task, const NodeSums *all, BestCut *best)
{
    int32_t *rows = g->rows + task->start;
    int m = task->stop - task->start, feature = -1, last = -1;
    FeatureDraw draw = begin_draw(g, task);
    int is_random = g->rules.is_random, is_small = m <= SMALL_NODE && !is_random;
    int n_distinct = g->distinct ? task->last_distinct - task->first_distinct : m;
    const int32_t *distinct = g->distinct ? g->distinct + task->first_distinct : rows;
    double margin = is_small || !g->whole_row ? INFINITY : margin_of(g, distinct, n_distinct, m);
    int is_rough = margin < INFINITY;
    FOR_RANK(FewRows) few;
    g->n_sorted_by = 0;
    if (m == 2)
        score_pair(g, rows, all);
    if (is_small)
        FOR_RANK(take_few)(g, &few, rows, m);
    for (int f; (f = next_feature(g, &draw)) >= 0;) {
        last = f;
        int status = is_random ? search_random(g, f, rows, m, all, best)
            : is_small ? FOR_RANK(search_few)(g, &few, f, all, best)
            : is_rough ? FOR_RANK(search_roughly)(g, f, distinct, n_distinct, m, all, margin, best)
            : FOR_RANK(search)(g, f, rows, m, all, best);
        put_away(&draw, status == CONSTANT);
        if (status == CUT)
            feature = f;
    }
    if (is_rough && feature >= 0 && best->score - best->second > margin)
        FOR_RANK(sort_rows)(g, rows, m, distinct, n_distinct);
    else if (is_rough && feature >= 0) {
        feature = -1;
        *best = (BestCut)NO_BEST;
        for (int k = 0; k < g->n_sorted_by; k++) {
            int f = g->sorted_by[k] >> 1;
            if (FOR_RANK(search)(g, f, rows, m, all, best) == CUT)
                feature = f;
        }
    }
    best->is_parted = is_random && feature == last && g->rules.kind != COUNTS;
    if (is_small && g->rules.kind != COUNTS) {
        int32_t old[SMALL_NODE];
        FOR_RANK(write_places)(&few);
        memcpy(old, rows, m * sizeof(int32_t));
        for (int k = 0; k < m; k++)
            rows[k] = old[few.place[k]];
    }
    end_draw(g, &draw, task);
    return feature;
}

/* scikit-learn's partition: a row of the right side changes places with the last one that has not
   been seen. Returns the number of rows on the left; one entry behind the rows may be read. */
static int FOR_RANK(part)(const RANK *col, int32_t at, int32_t *rows, int m)
{
    int a = 0, b = m;
    int32_t row = rows[0];
    while (a < b) {
        int goes_left = (int32_t)col[row] <= at, to = goes_left ? a : b - 1;
        int32_t next = rows[goes_left ? a + 1 : b - 1];
        rows[to] = row;
        row = next;
        a += goes_left;
        b -= !goes_left;
    }
    return a;
}

static void FOR_RANK(grow)(Exact *g)
{
    const ExactRules *rules = &g->rules;
    const RankedColumns *c = &g->columns;
    ExactNodes *t = &g->nodes;
    int n_waiting = 1;
    g->waiting[0] = (NodeTask){0, g->m, 0, g->n_distinct, 0, -1, 0, 0, INFINITY};
    while (n_waiting > 0) {
        NodeTask task = g->waiting[--n_waiting];
        int32_t *rows = g->rows + task.start;
        int m = task.stop - task.start, feature = -1, n_left = 0, middle_distinct = 0;
        double impurity_left = 0, impurity_right = 0;
        NodeSums all = sums_of(g, rows, m);
        BestCut best = NO_BEST;
        if (t->count == 0)
            task.impurity = impurity_of_node(g, &all);
        if (task.depth < rules->max_depth && m >= rules->min_split && m >= 2 * rules->min_leaf
            && all.w >= 2 * rules->min_weight && task.impurity > EPSILON)
            feature = FOR_RANK(best_feature)(g, &task, &all, &best);
        if (feature >= 0) {
            const RANK *col = (const RANK *)c->by_column + (size_t)feature * c->n;
            n_left = best.is_parted ? best.after : FOR_RANK(part)(col, best.at, rows, m);
            double decrease = divide(
                g, rows, m, n_left, &all, task.impurity, &impurity_left, &impurity_right);
            if (decrease + EPSILON < rules->min_decrease)
                feature = -1;
        }
        int node = add_node(g, &task, &all);
        if (feature < 0)
            continue;
        t->feature[node] = feature;
        t->threshold[node] = best.threshold;
        if (!rules->is_random) {
            const float *values = c->values + c->first[feature];
            double low = values[best.at], high = values[best.after], middle = low / 2.0 + high / 2.0;
            t->threshold[node] = middle >= high ? low : middle;
        }
        t->missing_left[node] = n_left > m - n_left;
        if (g->distinct) {
            const RANK *col = (const RANK *)c->by_column + (size_t)feature * c->n;
            int first = task.first_distinct, n_distinct = task.last_distinct - first;
            middle_distinct = first + FOR_RANK(part)(col, best.at, g->distinct + first, n_distinct);
        }
        g->waiting[n_waiting++] = (NodeTask){
            task.start + n_left, task.stop, middle_distinct, task.last_distinct, task.depth + 1, node,
            0, task.n_known, impurity_right};
        g->waiting[n_waiting++] = (NodeTask){
            task.start, task.start + n_left, task.first_distinct, middle_distinct, task.depth + 1,
            node, 1, task.n_known, impurity_left};
    }
}
