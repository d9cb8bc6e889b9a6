/* The proxy of one member that has no network but it (agent/proxied.h): a mode of paddle-agent. Started with
 * a socket in descriptor 3, over which the listening socket of the member's network comes, and these
 * variables:
 *
 *     ALLOW                                  addresses that are connected to (allow_list_has)
 *     http_proxy https_proxy all_proxy no_proxy    of the machine: how to get there
 *
 * All others are refused, and said so once each in the member's log (stderr). */
#pragma once

int proxy_main(void); /* never returns but for an error: the exit status */
