"""Joins on servers with little memory, which drop what they cannot keep: the world of [Gu05], in virtual time."""
