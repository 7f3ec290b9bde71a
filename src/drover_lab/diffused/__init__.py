"""The simulated world of [Gu05]: joins on servers with little memory, which drop tuples they cannot hold."""
