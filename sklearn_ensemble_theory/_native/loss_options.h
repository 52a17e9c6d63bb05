/* Which loss it is. */
#ifndef ENSEMBLE_LOSS_OPTIONS_H
#define ENSEMBLE_LOSS_OPTIONS_H

typedef enum {
    SQUARED, HUBER, KINK, POISSON, TWEEDIE, BINOMIAL, LOGISTIC, EXPONENTIAL, MULTINOMIAL
} LossKind;

/* Slopes on both sides of a kink. */
typedef struct { double left, right; } Kink;

typedef struct {
    LossKind kind;
    double delta;      /* HUBER: the residual at which the square turns into a line */
    double power;      /* TWEEDIE: of the mean, in the variance; above 1, at most 2 */
    Kink above, below; /* KINK: for y > 0, and for other y */
} LossOptions;

#endif
