"""What all boosting algorithms share: the loop, risks, step rules and weak learners."""
