"""Equalities of the bounds on votes: values by hand, and counts."""

from .test_certificates import test_bound_on_a_vote_by_hand

EQUALITIES = [("held_out_voting_error_bound", test_bound_on_a_vote_by_hand)]
