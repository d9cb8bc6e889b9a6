/* The proxy of one member without another network (agent/proxied.h): a mode of paddle-agent. It starts with a
 * socket as descriptor 3, receives the listening socket of the member's network over it, and has these
 * variables:
 *
 *     ALLOW                                        the allowed addresses (allow_list_has)
 *     http_proxy https_proxy all_proxy no_proxy    the machine's proxies
 *
 * Other addresses are refused, and logged once each in the member's log (stderr). */
#pragma once

int proxy_main(void); /* returns the exit status, only on error */
