/* Who may have one more connection (see crowd.h). */
#include "net/crowd.h"

#include "net/shares.h"

enum {
        TOLD_OWN = 64, /* of one holder at a time: more of them learn nothing new */
        CUT_MAX = 64,  /* connections that are being cut for others, and that others came for already */
};

struct Crowd {
        CrowdLimits limits;
        Shares *tcp, *local, *told;
        gint64 proxied;
};

Crowd *crowd_new(const CrowdLimits *limits)
{
        Crowd *crowd = g_new0(Crowd, 1);

        crowd->limits = *limits;
        crowd->tcp = shares_new();
        crowd->local = shares_new();
        crowd->told = shares_new();
        return crowd;
}

void crowd_free(Crowd *crowd)
{
        if (!crowd)
                return;
        shares_free(crowd->tcp);
        shares_free(crowd->local);
        shares_free(crowd->told);
        g_free(crowd);
}

/* A share is kept for the Unix socket, so that whoever reaches the port cannot keep out who has the machine.
 */
gint64 crowd_limit(const Crowd *crowd, bool local)
{
        gint64 for_tcp = crowd->limits.max - crowd->limits.kept;

        return local ? crowd->limits.max - MIN(shares_all(crowd->tcp) + crowd->proxied, for_tcp) : for_tcp;
}

static Shares *shares_for(const Crowd *crowd, const Peer *peer)
{
        return peer->local ? crowd->local : crowd->tcp;
}

static bool is_proxy(const Crowd *crowd, const Peer *peer)
{
        return !peer->local && !peer->ordinary && crowd->limits.proxies &&
               g_strv_contains(crowd->limits.proxies, peer->address);
}

static CrowdPlace enter_proxied(Crowd *crowd)
{
        if (crowd->proxied + shares_all(crowd->tcp) >= crowd_limit(crowd, false))
                return CROWD_ALL_FULL;
        crowd->proxied++;
        return CROWD_PROXY;
}

/* All are taken: the largest holder gives one up to a holder that has fewer. */
static CrowdPlace displace(Crowd *crowd, const Peer *peer, gint64 all_max, const char **ret_instead_of)
{
        Shares *shares = shares_for(crowd, peer);
        const char *largest = shares_largest(shares);

        if (!largest || shares_of(shares, largest) <= shares_of(shares, peer->holder) + 1 ||
            shares_take(shares, peer->holder, 1, crowd->limits.own, all_max + CUT_MAX) != SHARES_TAKEN)
                return CROWD_ALL_FULL;
        *ret_instead_of = largest;
        return CROWD_SERVED;
}

static CrowdPlace enter_own(Crowd *crowd, const Peer *peer, const char **ret_instead_of)
{
        gint64 all_max = crowd_limit(crowd, peer->local) - (peer->local ? 0 : crowd->proxied);

        switch (shares_take(shares_for(crowd, peer), peer->holder, 1, crowd->limits.own, all_max)) {
        case SHARES_TAKEN: return CROWD_SERVED;
        case SHARES_OWN_FULL: return CROWD_OWN_FULL;
        case SHARES_ALL_FULL: break;
        }
        return displace(crowd, peer, all_max, ret_instead_of);
}

CrowdPlace crowd_enter(Crowd *crowd, const Peer *peer, const char **ret_instead_of)
{
        CrowdPlace place;

        *ret_instead_of = NULL;
        place = is_proxy(crowd, peer) ? enter_proxied(crowd) : enter_own(crowd, peer, ret_instead_of);
        if (place == CROWD_SERVED || place == CROWD_PROXY)
                return place;
        return shares_take(crowd->told, peer->holder, 1, TOLD_OWN, crowd->limits.told) == SHARES_TAKEN
                       ? place
                       : CROWD_DROPPED;
}

void crowd_leave(Crowd *crowd, const Peer *peer, CrowdPlace place)
{
        switch (place) {
        case CROWD_SERVED: shares_give(shares_for(crowd, peer), peer->holder, 1); break;
        case CROWD_PROXY: crowd->proxied--; break;
        case CROWD_OWN_FULL:
        case CROWD_ALL_FULL: shares_give(crowd->told, peer->holder, 1); break;
        case CROWD_DROPPED: break;
        }
}
