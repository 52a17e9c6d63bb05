from libc.stdint cimport int32_t, uint16_t, uint64_t

cdef extern from "order_statistics.h" nogil:
    enum:
        LEVELS

    # The weighted target, the weight and the target of a row.
    struct Ranked:
        double s, w, t

    struct Places:
        uint64_t* words[]

    struct RankedSides:
        Places left, right

    Py_ssize_t n_words(Py_ssize_t)
    void make_set(Places*, Py_ssize_t, bint)
    void put_places(Places*, const int32_t*, Py_ssize_t)
    void move_places(Places*, Places*, const int32_t*, Py_ssize_t)
    void start_sides(RankedSides*, double, double, double, double, Py_ssize_t, const Ranked*)
    void move_row(RankedSides*, Py_ssize_t, const Ranked*)
    double weight_of(const RankedSides*, int)
    Py_ssize_t next_candidate(
        RankedSides*, const Ranked*, const int32_t*, const uint16_t*, Py_ssize_t, Py_ssize_t,
        Py_ssize_t, double, double)
    double lowest_sum(RankedSides*, int, const Ranked*, double)
