/*
 * Many hosts of one machine: a process that has loaded the engine's libraries starts the engine of
 * each by a fork, which takes a tenth of what an exec takes where page faults are dear (a guest of
 * User-Mode Linux). It is no command for people: stdin is a socket of whole messages.
 */
#pragma once

#include <stdbool.h>

#define HOSTS_WORD "hosts"

/*
 * A message is NAME=VALUE words, an empty word, and the words of a command line, each ended by a
 * zero; with it come two descriptors, of a network namespace and for the output. The answer is the
 * number of the new process, a child of this one's parent, or minus an errno, as an int. True in
 * that process, with its own words; false when there are no more messages, with the exit status.
 */
bool hosts_follow(int *argc, char ***argv, int *status);

/*
 * The end of such a process. What the libraries would tidy up is memory that ends with it, and to
 * visit each of them is a fifth of all its page faults.
 */
_Noreturn void hosts_leave(int status);
