/* The commands of the older client about users (see command.h). */
#include "cli/paddleflow/commands.h"

static const PaddleFlowParam user_words[] = {
        { "USERNAME", .key = "username" },
        { "PASSWORD", .key = "password" },
        { 0 },
};
static const PaddleFlowParam user_set_words[] = {
        { "USERNAME" },
        { "PASSWORD", .key = "password" },
        { 0 },
};
static const PaddleFlowParam username_word[] = { { "USERNAME" }, { 0 } };
static const PaddleFlowParam user_list_options[] = { MAXSIZE, { 0 } };
static const PaddleFlowColumn user_columns[] = { { "name", "name" }, { "create time", "createTime" }, { 0 } };

const PaddleFlowCommand paddleflow_user_commands[] = {
        { "list", "List users.", NULL, user_list_options, "GET", "/user", .items = "userList",
          .columns = user_columns },
        { "add", "Add a user.", user_words, NULL, "POST", "/user", PADDLEFLOW_BODY,
          .done = "user[{0}] add success" },
        { "set", "Change a user's password.", user_set_words, NULL, "PUT", "/user/{0}", PADDLEFLOW_BODY,
          .done = "user[{0}] set success" },
        { "delete", "Delete a user.", username_word, NULL, "DELETE", "/user/{0}",
          .done = "user[{0}] delete success" },
        { 0 },
};
