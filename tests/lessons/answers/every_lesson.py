"""The answers to every lesson, by its number."""

from tests.lessons.answers import (
    lesson_1,
    lesson_2,
    lesson_3,
    lesson_4,
    lesson_5,
    lesson_6,
    lesson_7,
    lesson_8,
    lesson_9,
)
from tests.lessons.answers.handed_in import LessonAnswers

ANSWERS: dict[int, LessonAnswers] = {
    1: lesson_1.ANSWERS,
    2: lesson_2.ANSWERS,
    3: lesson_3.ANSWERS,
    4: lesson_4.ANSWERS,
    5: lesson_5.ANSWERS,
    6: lesson_6.ANSWERS,
    7: lesson_7.ANSWERS,
    8: lesson_8.ANSWERS,
    9: lesson_9.ANSWERS,
}
