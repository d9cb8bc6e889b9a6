/* The functions that all commands share (see command.h). */
#include "engine/command.h"

void *command_new(const CommandOps *ops, EngineDone done, void *arg)
{
        Command *command = g_malloc0(ops->size);

        command->ops = ops;
        command->done = done;
        command->arg = arg;
        return command;
}

void command_free(Command *command)
{
        if (!command)
                return;
        if (command->ops->free)
                command->ops->free(command);
        g_clear_error(&command->error);
        g_clear_pointer(&command->job, job_unref);
        g_free(command);
}

void command_again(Command *command)
{
        g_clear_error(&command->error);
        g_clear_pointer(&command->job, job_unref);
        command->live = NULL;
        command->repeated = false;
}

void command_answer(Engine *engine, Command *command, const GError *error)
{
        if (!error)
                error = command->error;
        if (command->ops->answer)
                command->ops->answer(engine, command, error);
        if (command->done)
                command->done(error ? NULL : command->job, command->repeated, error, command->arg);
        command_free(command);
}
