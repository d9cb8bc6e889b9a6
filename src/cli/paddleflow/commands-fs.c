/* The commands of the older client about file systems (see command.h). */
#include "cli/paddleflow/commands.h"

static const PaddleFlowParam fs_word[] = { { "FSNAME" }, { 0 } };
static const PaddleFlowParam fs_create_words[] = { { "FSNAME", .key = "name" },
                                                   { "URL", .key = "url" },
                                                   { 0 } };
/* clang-format off */
#define FS_USER { "username", "-u", PADDLEFLOW_TEXT, "username", "of this user; only root may name another one" }
/* clang-format on */
static const PaddleFlowParam fs_options[] = { FS_USER, { 0 } };
static const PaddleFlowParam fs_list_options[] = { FS_USER, MAXSIZE, { 0 } };
static const PaddleFlowParam fs_create_options[] = {
        FS_USER,
        { "option", "-o", PADDLEFLOW_PAIRS, "properties", "a property: a=1; may be repeated" },
        { 0 },
};
static const PaddleFlowColumn fs_columns[] = {
        { "name", "name" },
        { "owner", "username" },
        { "type", "type" },
        { "server address", "serverAddress" },
        { "sub path", "subPath" },
        { "properties", "properties" },
        { 0 },
};

const PaddleFlowCommand paddleflow_fs_commands[] = {
        { "list", "List file systems.", NULL, fs_list_options, "GET", "/fs", .items = "fsList",
          .columns = fs_columns },
        { "show", "Show a file system.", fs_word, fs_options, "GET", "/fs/{0}", .columns = fs_columns },
        { "create", "Create a file system.", fs_create_words, fs_create_options, "POST", "/fs",
          PADDLEFLOW_BODY, .done = "fs[{0}] create success" },
        { "delete", "Delete a file system; its files stay.", fs_word, fs_options, "DELETE", "/fs/{0}",
          .done = "fs[{0}] delete success" },
        { 0 },
};
