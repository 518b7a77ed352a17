/* The subcommands; each returns the exit status (base/exits.h). */
#pragma once

#include "base/exits.h"

int receive_main(int argc, char **argv);
int send_main(int argc, char **argv);
int get_main(int argc, char **argv);
int round_trips_main(int argc, char **argv);
int datagrams_main(int argc, char **argv);
int third_party_main(int argc, char **argv);
int key_main(int argc, char **argv);
