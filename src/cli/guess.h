/* Guesses a job file for a directory from its Python files: their imports show the framework and the
 * packages, their names the program. Pure: texts in, a text out. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct Guess Guess;
Guess *guess_new(void);
void guess_free(Guess *guess);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Guess, guess_free)

/* Adds a Python file: its path in the directory, and its text. */
void guess_add(Guess *guess, const char *path, const char *text);
/* Sets the file with the required packages ("requirements.txt"); without one they are taken from imports. */
void guess_needs(Guess *guess, const char *file);

/* The program, and the framework as in doc/guide/frameworks.md ("plain" unless something else is imported). The
 * program is NULL when there is none; borrowed. */
const char *guess_program(const Guess *guess);
const char *guess_framework(const Guess *guess);

/* The job file, YAML with comments; `name` is the directory's. The caller's. */
char *guess_format(const Guess *guess, const char *name);
