/* The growth of one exact tree on the stored values of a sparse X; see exact_trees.h.

   Cuts, draws and comparisons are those of the same X as an array. What is not stored is a block of
   zeros, whose sums are those of the node without what is stored. Sums of whole weights are exact,
   and so the trees are the same; others differ from those of the array in their rounding. */
#ifndef ENSEMBLE_EXACT_SPARSE_H
#define ENSEMBLE_EXACT_SPARSE_H

#include "exact_trees.h"

/* Values in the order of the columns, in each of them increasing, without zeros. */
typedef struct {
    ptrdiff_t n_stored;
    const int64_t *first;             /* where each column begins, and the end */
    const int32_t *row, *feature;     /* of each value */
    const float *value;
    const int64_t *first_of_row;      /* where the places of the values of each row begin */
    const int32_t *of_row;            /* places in the order above */
} StoredColumns;

typedef struct {
    Exact exact;
    StoredColumns stored;
    int32_t *place;                   /* of each row among those of the tree; -1 of others */
    uint64_t *marks, *marked;         /* a bit for each value, and one for 64; empty between nodes */
    int32_t *found;                   /* the values of a node, or of a column there */
    int32_t *begin, *end;             /* where those of a column are in it, ... */
    int32_t *node;                    /* ... if this is the number of the node */
    int32_t number;
} ExactSparse;

/* The values of a node in the order of the columns, by marks: no comparison. */
static void find_by_rows(ExactSparse *s, const int32_t *rows, int m)
{
    const StoredColumns *c = &s->stored;
    int32_t last = -1, total = 0;
    for (int k = 0; k < m; k++)
        for (int64_t j = c->first_of_row[rows[k]]; j < c->first_of_row[rows[k] + 1]; j++) {
            int32_t e = c->of_row[j];
            s->marks[e >> 6] |= (uint64_t)1 << (e & 63);
            s->marked[e >> 12] |= (uint64_t)1 << ((e >> 6) & 63);
        }
    for (ptrdiff_t b = 0; b < (c->n_stored + 4095) >> 12; b++) {
        uint64_t words = s->marked[b];
        s->marked[b] = 0;
        for (; words; words &= words - 1) {
            ptrdiff_t a = (b << 6) + lowest_of(words);
            uint64_t bits = s->marks[a];
            s->marks[a] = 0;
            for (; bits; bits &= bits - 1) {
                int32_t e = (int32_t)(a << 6) + lowest_of(bits), f = c->feature[e];
                if (f != last) {
                    s->begin[f] = total;
                    s->node[f] = s->number;
                    last = f;
                }
                s->found[total++] = e;
                s->end[f] = total;
            }
        }
    }
}

/* The values of a column that are in a node. */
static int find_in_column(ExactSparse *s, int f, int start, int stop)
{
    const StoredColumns *c = &s->stored;
    uint32_t size = (uint32_t)(stop - start);
    int total = 0;
    for (int64_t e = c->first[f]; e < c->first[f + 1]; e++) {
        s->found[total] = (int32_t)e;
        total += (uint32_t)(s->place[c->row[e]] - start) < size;
    }
    return total;
}

/* What is on the left of a cut, while the cut moves to the right. */
typedef struct { double s, w; int64_t a, b, whole; int n; } LeftSide;

static inline void move_left(Exact *g, LeftSide *left, const Target *one, int sign)
{
    left->n += sign;
    if (g->rules.kind == NUMBERS) {
        left->s += sign * one->number.wy;
        left->w += sign * one->number.w;
    } else if (g->rules.kind == COUNTS) {
        g->left_counts[one->count.label] += sign * one->count.w;
        left->whole += sign * one->count.w;
    } else {
        g->left[one->real.label] += sign * one->real.w;
        left->w += sign * one->real.w;
    }
}

static inline void begin_left(Exact *g, LeftSide *left, const NodeSums *all, int m, int is_whole)
{
    size_t K = (size_t)g->rules.n_classes;
    *left = (LeftSide){0, 0, 0, 0, 0, 0};
    if (is_whole)
        *left = (LeftSide){all->s, all->w, 0, 0, (int64_t)all->w, m};
    if (g->rules.kind == COUNTS) {
        if (is_whole)
            memcpy(g->left_counts, g->whole_counts, K * sizeof(int64_t));
        else
            memset(g->left_counts, 0, K * sizeof(int64_t));
    } else if (g->rules.kind == CLASSES) {
        if (is_whole)
            memcpy(g->left, g->whole, K * sizeof(double));
        else
            memset(g->left, 0, K * sizeof(double));
    }
}

/* Of COUNTS: the squares of both sides, after rows have moved one by one or all at once. */
static inline void square_sides(const Exact *g, LeftSide *left)
{
    left->a = left->b = 0;
    for (int k = 0; k < g->rules.n_classes; k++) {
        int64_t x = g->left_counts[k], y = g->whole_counts[k] - x;
        left->a += x * x;
        left->b += y * y;
    }
}

static inline int try_cut(
    Exact *g, LeftSide *left, int m, const NodeSums *all, BestCut *best)
{
    double w = g->rules.kind == COUNTS ? (double)left->whole : left->w, w2 = all->w - w;
    if (!may_be_leaves(&g->rules, left->n, m - left->n, w, w2))
        return NO_CUT;
    if (g->rules.kind == NUMBERS) {
        double s = left->s, s2 = all->s - s;
        if (s * s * w2 + s2 * s2 * w < best->score * (w * w2) * NEARLY)
            return NO_CUT;
        return is_better(best, s * s / w + s2 * s2 / w2, 0, 0) ? CUT : NO_CUT;
    }
    if (g->rules.kind == COUNTS)
        return try_counts(best, left->a, left->b, left->whole, (int64_t)all->w - left->whole, 0, 0);
    int K = g->rules.n_classes;
    double *right = g->left + K;
    for (int k = 0; k < K; k++)
        right[k] = g->whole[k] - g->left[k];
    double a = impurity_of(g->left, K, w, g->rules.is_entropy);
    double b = impurity_of(right, K, w2, g->rules.is_entropy);
    return is_better(best, -w2 * b - w * a, 0, 0) ? CUT : NO_CUT;
}

/* The best cut of a column; the values are increasing, n_below of them are negative. */
static int scan_stored(
    ExactSparse *s, const int32_t *found, int n_found, int n_below, int m, const NodeSums *all,
    BestCut *best)
{
    Exact *g = &s->exact;
    const StoredColumns *c = &s->stored;
    LeftSide left;
    int status = NO_CUT, is_counts = g->rules.kind == COUNTS;
    float last = 0, gap = g->rules.least_gap;
    begin_left(g, &left, all, m, 0);
    left.b = all->square;
    for (int k = 0; k <= n_found; k++) {
        if (k == n_below && n_found < m) {
            /* All zeros at once: the left side is what is not above them. */
            if (k > 0 && 0.0f > last + gap && try_cut(g, &left, m, all, best) == CUT) {
                best->threshold = last / 2.0;
                if (best->threshold >= 0)
                    best->threshold = last;
                status = CUT;
            }
            begin_left(g, &left, all, m, 1);
            for (int j = n_found - 1; j >= n_below; j--)
                move_left(g, &left, g->target + c->row[found[j]], -1);
            if (is_counts)
                square_sides(g, &left);
            last = 0;
        }
        if (k == n_found)
            break;
        float value = c->value[found[k]];
        const Target *one = g->target + c->row[found[k]];
        if (left.n > 0 && value > last + gap && try_cut(g, &left, m, all, best) == CUT) {
            best->threshold = (double)last / 2.0 + (double)value / 2.0;
            if (best->threshold >= (double)value)
                best->threshold = last;
            status = CUT;
        }
        if (is_counts) {
            move_count(one->count.label, one->count.w, g->whole_counts, g->left_counts, &left.a,
                &left.b);
            left.whole += one->count.w;
            left.n++;
        } else
            move_left(g, &left, one, 1);
        last = value;
    }
    return status;
}

/* A cut drawn between the smallest and the largest value, as in `search_random`. */
static int draw_stored(
    ExactSparse *s, const int32_t *found, int n_found, float low, float high, int m,
    const NodeSums *all, BestCut *best)
{
    Exact *g = &s->exact;
    const StoredColumns *c = &s->stored;
    LeftSide left;
    double threshold = ((double)high - (double)low) * (double)next_of(&g->rules.state)
        / (double)0x7FFFFFFF + (double)low;
    if (threshold == (double)high)
        threshold = (double)low;
    int zeros_left = threshold >= 0;
    begin_left(g, &left, all, m, zeros_left);
    for (int k = 0; k < n_found; k++) {
        int goes_left = (double)c->value[found[k]] <= threshold;
        if (goes_left != zeros_left)
            move_left(g, &left, g->target + c->row[found[k]], zeros_left ? -1 : 1);
    }
    if (g->rules.kind == COUNTS)
        square_sides(g, &left);
    if (try_cut(g, &left, m, all, best) != CUT)
        return NO_CUT;
    best->threshold = threshold;
    return CUT;
}

static int search_stored(
    ExactSparse *s, int f, const NodeTask *task, int by_rows, const NodeSums *all, BestCut *best)
{
    const StoredColumns *c = &s->stored;
    const int32_t *found = s->found;
    int m = task->stop - task->start, n_found = 0, n_below = 0;
    float gap = s->exact.rules.least_gap;
    if (!by_rows)
        n_found = find_in_column(s, f, task->start, task->stop);
    else if (s->node[f] == s->number) {
        found += s->begin[f];
        n_found = s->end[f] - s->begin[f];
    }
    if (n_found == 0)
        return CONSTANT;
    float low = c->value[found[0]], high = c->value[found[n_found - 1]];
    if (n_found < m) {
        low = low < 0 ? low : 0;
        high = high > 0 ? high : 0;
    }
    if (high <= low + gap)
        return CONSTANT;
    if (s->exact.rules.is_random)
        return draw_stored(s, found, n_found, low, high, m, all, best);
    while (n_below < n_found && c->value[found[n_below]] < 0)
        n_below++;
    return scan_stored(s, found, n_found, n_below, m, all, best);
}

/* As `best_feature` draws features; values are found by rows where this reads fewer of them. */
static int best_stored_feature(ExactSparse *s, NodeTask *task, const NodeSums *all, BestCut *best)
{
    Exact *g = &s->exact;
    int32_t *rows = g->rows + task->start;
    const StoredColumns *c = &s->stored;
    int m = task->stop - task->start, p = (int)g->columns.p, rest = p - task->n_known;
    int n_searched = g->rules.max_features < rest ? g->rules.max_features : rest, feature = -1;
    FeatureDraw draw = begin_draw(g, task);
    int64_t in_rows = 0, in_columns = (int64_t)c->n_stored * n_searched / p;
    for (int k = 0; k < m && in_rows <= in_columns; k++)
        in_rows += c->first_of_row[rows[k] + 1] - c->first_of_row[rows[k]];
    int by_rows = in_rows <= in_columns;
    s->number++;
    if (by_rows)
        find_by_rows(s, rows, m);
    for (int f; (f = next_feature(g, &draw)) >= 0;) {
        int status = search_stored(s, f, task, by_rows, all, best);
        put_away(&draw, status == CONSTANT);
        if (status == CUT)
            feature = f;
    }
    end_draw(g, &draw, task);
    return feature;
}

/* Rows whose value is at most the threshold come first; the number of them. Only rows of stored
   values on the other side than zero move. */
static int part_stored(ExactSparse *s, int f, double threshold, int start, int stop)
{
    const StoredColumns *c = &s->stored;
    int32_t *rows = s->exact.rows, *place = s->place;
    int zeros_left = threshold >= 0, n_found = find_in_column(s, f, start, stop);
    int at = zeros_left ? stop - 1 : start, step = zeros_left ? -1 : 1;
    for (int k = 0; k < n_found; k++) {
        int32_t e = s->found[k], row = c->row[e], other = rows[at];
        if (((double)c->value[e] <= threshold) == zeros_left)
            continue;
        rows[place[row]] = other;
        place[other] = place[row];
        rows[at] = row;
        place[row] = at;
        at += step;
    }
    return zeros_left ? at + 1 - start : at - start;
}

static void grow_stored(ExactSparse *s)
{
    Exact *g = &s->exact;
    const ExactRules *rules = &g->rules;
    ExactNodes *t = &g->nodes;
    int n_waiting = 1;
    for (ptrdiff_t i = 0; i < g->columns.n; i++)
        s->place[i] = -1;
    for (int k = 0; k < g->m; k++)
        s->place[g->rows[k]] = k;
    g->waiting[0] = (NodeTask){0, g->m, 0, 0, 0, -1, 0, 0, INFINITY};
    while (n_waiting > 0) {
        NodeTask task = g->waiting[--n_waiting];
        int32_t *rows = g->rows + task.start;
        int m = task.stop - task.start, feature = -1, n_left = 0;
        double impurity_left = 0, impurity_right = 0;
        NodeSums all = sums_of(g, rows, m);
        BestCut best = NO_BEST;
        if (t->count == 0)
            task.impurity = impurity_of_node(g, &all);
        if (task.depth < rules->max_depth && m >= rules->min_split && m >= 2 * rules->min_leaf
            && all.w >= 2 * rules->min_weight && task.impurity > EPSILON)
            feature = best_stored_feature(s, &task, &all, &best);
        if (feature >= 0) {
            n_left = part_stored(s, feature, best.threshold, task.start, task.stop);
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
        t->missing_left[node] = n_left > m - n_left;
        g->waiting[n_waiting++] = (NodeTask){
            task.start + n_left, task.stop, 0, 0, task.depth + 1, node, 0, task.n_known,
            impurity_right};
        g->waiting[n_waiting++] = (NodeTask){
            task.start, task.start + n_left, 0, 0, task.depth + 1, node, 1, task.n_known,
            impurity_left};
    }
}
#endif
