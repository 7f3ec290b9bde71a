"""The control loop: samples -> load model -> policy -> judge -> plan; in virtual time or real, and without a clock."""
