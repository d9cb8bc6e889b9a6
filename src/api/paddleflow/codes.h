/* The words that errors have on this face, each with its HTTP status (doc/reference/paddleflow-api.md,
 * "Errors and their codes"), and errors that carry one. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "base/err.h"

#define CODES(X)                                                                                             \
        X(MalformedJSON, 400)                                                                                \
        X(MalformedYaml, 400)                                                                                \
        X(DecodeBase64, 400)                                                                                 \
        X(InvalidPipeline, 400)                                                                              \
        X(ReadYamlFileFailed, 400)                                                                           \
        X(InvalidHTTPRequest, 400)                                                                           \
        X(InvalidURI, 400)                                                                                   \
        X(InvalidNamePattern, 400)                                                                           \
        X(InvalidMarker, 400)                                                                                \
        X(NamespaceNotFound, 400)                                                                            \
        X(DuplicatedName, 400)                                                                               \
        X(InvalidArguments, 400)                                                                             \
        X(AuthWithoutToken, 400)                                                                             \
        X(AuthInvalidToken, 400)                                                                             \
        X(AuthFailed, 400)                                                                                   \
        X(AuthIllegalUser, 400)                                                                              \
        X(UserNotExist, 400)                                                                                 \
        X(UserPasswordWeak, 400)                                                                             \
        X(QueueQuotaTypeIsNotSupported, 400)                                                                 \
        X(QueueNameNotFound, 400)                                                                            \
        X(QueueResourceNotMatch, 400)                                                                        \
        X(QueueActionIsNotSupported, 400)                                                                    \
        X(QueueIsInUse, 400)                                                                                 \
        X(QueueUpdateFailed, 400)                                                                            \
        X(GrantResourceTypeNotFound, 400)                                                                    \
        X(GrantNotFound, 400)                                                                                \
        X(GrantAlreadyExist, 400)                                                                            \
        X(GrantRootActionNotSupport, 400)                                                                    \
        X(FlavourInvalidField, 400)                                                                          \
        X(JobInvalidField, 400)                                                                              \
        X(JobCreateFailed, 400)                                                                              \
        X(FileSystemNameFormatError, 400)                                                                    \
        X(InvalidFileSystemParamsURL, 400)                                                                   \
        X(InvalidFileSystemParamsProperties, 400)                                                            \
        X(InvalidFileSystemFsName, 400)                                                                      \
        X(ConnectivityFailed, 400)                                                                           \
        X(LinkNotExist, 400)                                                                                 \
        X(ClusterNameNotFound, 400)                                                                          \
        X(ClusterNotFound, 400)                                                                              \
        X(InvalidClusterProperties, 400)                                                                     \
        X(InvalidClusterCredential, 400)                                                                     \
        X(InvalidClusterStatus, 400)                                                                         \
        X(AccessDenied, 403)                                                                                 \
        X(ActionNotAllowed, 403)                                                                             \
        X(OnlyRootAllowed, 403)                                                                              \
        X(UserNameDuplicated, 403)                                                                           \
        X(QueueNameDuplicated, 403)                                                                          \
        X(FileSystemNotExist, 403)                                                                           \
        X(PathNotFound, 404)                                                                                 \
        X(RecordNotFound, 404)                                                                               \
        X(ResourceNotFound, 404)                                                                             \
        X(RunNotFound, 404)                                                                                  \
        X(RunCacheNotFound, 404)                                                                             \
        X(ArtifactEventNotFound, 404)                                                                        \
        X(PipelineNotFound, 404)                                                                             \
        X(ScheduleNotFound, 404)                                                                             \
        X(FlavourNotFound, 404)                                                                              \
        X(JobNotFound, 404)                                                                                  \
        X(MethodNotAllowed, 405)                                                                             \
        X(LinkModelError, 500)                                                                               \
        X(InternalError, 500)                                                                                \
        X(InvalidComputeResource, 500)

#define CODE_ENUM(word, status) CODE_##word,
typedef enum { CODES(CODE_ENUM) CODES_COUNT } Code;
#undef CODE_ENUM

const char *code_word(Code code);
int code_status(Code code);

/* Errors of this face: their code is a Code. */
#define PADDLEFLOW_DOMAIN (paddleflow_quark())
GQuark paddleflow_quark(void);

/* Sets *error and returns false, as err_set. */
bool paddleflow_set(GError **error, Code code, const char *format, ...) G_GNUC_PRINTF(3, 4);
#define paddleflow_set(...)                                                                                  \
        ({                                                                                                   \
                (void)paddleflow_set(__VA_ARGS__);                                                           \
                false;                                                                                       \
        })

/* Codes for the engine's errors at one place; ends with a row of `from` ERR_CODES. */
typedef struct {
        ErrCode from;
        Code to;
} CodeMap;
#define CODE_MAP_END                                                                                         \
        {                                                                                                    \
                ERR_CODES, CODE_InternalError                                                                \
        }

/* The code of any error: its own, that of `map` (may be NULL), or the usual one. */
Code code_of(const GError *error, const CodeMap *map);
/* Gives an error that is none of this face's a code, by `map`; its text stays. Takes it; NULL is NULL. */
GError *paddleflow_translate(GError *error, const CodeMap *map);
/* Message and hint as one text; the caller's. */
char *paddleflow_message(const GError *error);
