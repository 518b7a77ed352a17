#!/bin/sh
# ansible-playbook that is interrupted when the command that began it is killed: the runner has it ignore its terminal.
exec setpriv --pdeathsig INT ansible-playbook "$@"
