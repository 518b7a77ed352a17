/* The subcommands; each returns the exit status: 0 done, 1 failed, 2 wrong usage. */
#ifndef LANDSPEED_COMMANDS_H
#define LANDSPEED_COMMANDS_H

#define EXIT_FAILED 1
#define EXIT_USAGE  2
/* Of a session's process only: the server's signal cut it short. */
#define EXIT_INTERRUPTED 3

int receive_main(int argc, char **argv);
int send_main(int argc, char **argv);
int third_party_main(int argc, char **argv);
int key_main(int argc, char **argv);

#endif
