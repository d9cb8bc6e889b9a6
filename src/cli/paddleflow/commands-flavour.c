/* The commands of the older client about flavours (see command.h). */
#include "cli/paddleflow/commands.h"

static const PaddleFlowParam flavour_word[] = { { "NAME" }, { 0 } };
static const PaddleFlowParam flavour_create_words[] = { { "NAME", .key = "name" }, { 0 } };
static const PaddleFlowParam flavour_list_options[] = {
        MAXKEYS,
        MARKER,
        { 0 },
};
static const PaddleFlowParam flavour_create_options[] = {
        { "cpu", "-c", PADDLEFLOW_TEXT, "cpu", "cpu of the flavour", .required = true },
        { "memory", "-m", PADDLEFLOW_TEXT, "mem", "memory of the flavour", .required = true },
        { "scalar", "-s", PADDLEFLOW_MAP, "scalarResources", "other resources: a=1,b=2" },
        { 0 },
};
static const PaddleFlowParam flavour_update_options[] = {
        { "cpu", "-c", PADDLEFLOW_TEXT, "cpu", "cpu of the flavour" },
        { "memory", "-m", PADDLEFLOW_TEXT, "mem", "memory of the flavour" },
        { "scalar", "-s", PADDLEFLOW_MAP, "scalarResources", "other resources: a=1,b=2" },
        { 0 },
};
static const PaddleFlowColumn flavour_columns[] = {
        { "name", "name" },
        { "cpu", "cpu" },
        { "mem", "mem" },
        { "scalar resources", "scalarResources" },
        { "create time", "createTime" },
        { "update time", "updateTime" },
        { 0 },
};

const PaddleFlowCommand paddleflow_flavour_commands[] = {
        { "list", "List flavours.", NULL, flavour_list_options, "GET", "/flavour", .items = "flavourList",
          .columns = flavour_columns, .marker = true },
        { "show", "Show a flavour.", flavour_word, NULL, "GET", "/flavour/{0}", .columns = flavour_columns },
        { "create", "Create a flavour.", flavour_create_words, flavour_create_options, "POST", "/flavour",
          PADDLEFLOW_BODY, .done = "flavour[{0}] create success" },
        { "update", "Change a flavour.", flavour_word, flavour_update_options, "PUT", "/flavour/{0}",
          PADDLEFLOW_BODY, .done = "flavour[{0}] update success" },
        { "delete", "Delete a flavour.", flavour_word, NULL, "DELETE", "/flavour/{0}",
          .done = "flavour[{0}] delete success" },
        { 0 },
};
