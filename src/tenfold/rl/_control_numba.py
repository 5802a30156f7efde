"""Compiled steps of the pole on a cart and of the car in the valley."""

from __future__ import annotations

from math import pi

import numpy as np
from numba import njit

_ANGLE_LIMIT, _PLACE_LIMIT = 12 * 2 * pi / 360, 2.4


@njit(cache=True, nogil=True)
def move_poles(states, actions, fallen):
    """One step of Euler's method for each cart; `fallen` says which poles fell or carts left."""
    for i in range(len(states)):
        x, speed, angle, spin = states[i]
        force = 10.0 if actions[i] == 1 else -10.0
        cosine, sine = np.cos(angle), np.sin(angle)
        push = (force + 0.05 * np.square(spin) * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3.0 - 0.1 * np.square(cosine) / 1.1))
        slide = push - 0.05 * turn * cosine / 1.1
        states[i, 0] = x + 0.02 * speed
        states[i, 1] = speed + 0.02 * slide
        states[i, 2] = angle + 0.02 * spin
        states[i, 3] = spin + 0.02 * turn
        fallen[i] = abs(states[i, 0]) > _PLACE_LIMIT or abs(states[i, 2]) > _ANGLE_LIMIT


@njit(cache=True, nogil=True)
def move_cars(states, actions, arrived):
    """One step of each car; `arrived` says which are at the flag."""
    for i in range(len(states)):
        place, speed = states[i]
        speed += (actions[i] - 1) * 0.001 + np.cos(3 * place) * -0.0025
        speed = min(max(speed, -0.07), 0.07)
        place = min(max(place + speed, -1.2), 0.6)
        if place == -1.2 and speed < 0:
            speed = 0.0
        states[i, 0], states[i, 1] = place, speed
        arrived[i] = place >= 0.5 and speed >= 0.0
