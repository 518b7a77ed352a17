// Which process holds a socket: the kernel tells it only in /proc.
#pragma once

// Calls `found` for each socket that a process holds: its inode, the process, its name. The
// processes come in the order in which /proc has them.
void owners_scan(void (*found)(unsigned long inode, int pid, const char *name));
