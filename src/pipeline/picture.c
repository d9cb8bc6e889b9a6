/* What a picture contains (see picture.h): boxes of components, level by level while there is a place for them, with lines
 * of their dependencies; then their sizes and places, with layers to the right or downwards, whatever fits a page better. */
#include "pipeline/picture.h"

#include <string.h>

#include "base/cancel.h"
#include "base/number.h"
#include "base/text-cut.h"
#include "base/word.h"
#include "pipeline/picture-box.h"
#include "pipeline/picture-chain.h"
#include "pipeline/picture-component.h"
#include "pipeline/show.h"

enum {
        GRID_MIN = 7,      /* so many steps with the same neighbours become a grid, */
        GRID_MAX = 150,    /* and more than this a stack */
        LANES_MAX = 4000,  /* layers that lines pass, together */
        BUCKETS = 40,      /* of a DAG that is too large */
        HEADING_NAME = 32, /* characters of the name of a run in the heading */
};

typedef struct {
        BoxSource source;
        GQueue open;       /* Box of a DAG whose components are not drawn yet */
        GHashTable *sizes; /* of bodies of DAGs: how many boxes they need */
        guint boxes, lines;
        bool less; /* something is drawn in less detail */
} Build;

/* ---- the components of a DAG ---- */

/* The boxes of a DAG's components, and which box stands for which. */
typedef struct {
        guint32 first, n; /* components */
        guint32 *box_of;  /* of each component */
        bool alike;       /* the components of a box have the same neighbours */
        GPtrArray *boxes;
        GArray *lines;
} Inside;

static void inside_clear(Inside *inside)
{
        g_free(inside->box_of);
        g_clear_pointer(&inside->boxes, g_ptr_array_unref);
        g_clear_pointer(&inside->lines, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Inside, inside_clear)

static guint64 mix(guint64 word)
{
        word = (word ^ word >> 31) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
        return (word ^ word >> 29) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
}

/* Equal for steps with the same dependencies and dependants; 0 for DAGs. */
static guint64 signature(const Build *build, guint32 component)
{
        const Definition *definition = build->source.picture->definition;
        const Component *at = &definition->components[component];
        guint64 sum = 1;

        if (picture_body(&build->source, component)->dag)
                return 0;
        for (guint32 k = at->dependencies; k < at[1].dependencies; k++)
                sum += mix(definition->links[k] * 2u + 1);
        for (guint32 k = at->dependants; k < at[1].dependants; k++)
                sum += mix(definition->links[k] * 2u + 2);
        return mix(sum) | 1;
}

static void guint64_free(gpointer number)
{
        g_free(number);
}

/* How many components have each signature. */
static GHashTable *count_alike(const Build *build, const Inside *inside)
{
        GHashTable *alike = g_hash_table_new_full(g_int64_hash, g_int64_equal, guint64_free, NULL);

        for (guint32 i = 0; i < inside->n && cancel_check(); i++) {
                guint64 key = signature(build, inside->first + i);
                guint n = GPOINTER_TO_UINT(g_hash_table_lookup(alike, &key));

                if (key)
                        g_hash_table_insert(alike, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(n + 1));
        }
        return alike;
}

/* Gives each component its place: box_of. *ret_n is the number of boxes. */
static void join_alike(const Build *build, Inside *inside, guint32 *ret_n)
{
        g_autoptr(GHashTable) alike = count_alike(build, inside);
        g_autoptr(GHashTable) stacks = g_hash_table_new_full(g_int64_hash, g_int64_equal, guint64_free, NULL);

        *ret_n = 0;
        for (guint32 i = 0; i < inside->n && cancel_check(); i++) {
                guint64 key = signature(build, inside->first + i);
                gpointer place;

                if (!key || GPOINTER_TO_UINT(g_hash_table_lookup(alike, &key)) < GRID_MIN) {
                        inside->box_of[i] = (*ret_n)++;
                } else if (g_hash_table_lookup_extended(stacks, &key, NULL, &place)) {
                        inside->box_of[i] = GPOINTER_TO_UINT(place);
                } else {
                        inside->box_of[i] = (*ret_n)++;
                        g_hash_table_insert(stacks, g_memdup2(&key, sizeof key),
                                            GUINT_TO_POINTER(inside->box_of[i]));
                }
        }
}

/* The lines between boxes, each once. NULL: more than `most`. */
static GArray *find_lines(const Build *build, const Inside *inside, guint most)
{
        const Definition *definition = build->source.picture->definition;
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_int64_hash, g_int64_equal, guint64_free, NULL);
        g_autoptr(GArray) lines = g_array_new(FALSE, FALSE, sizeof(BoxLine));

        for (guint32 i = 0; i < inside->n; i++) {
                const Component *at = &definition->components[inside->first + i];

                for (guint32 k = at->dependencies; k < at[1].dependencies; k++) {
                        guint32 from = inside->box_of[definition->links[k] - inside->first];
                        guint64 key = (guint64)from << 32 | inside->box_of[i];
                        const BoxLine line = { .from = from, .to = inside->box_of[i] };

                        if (from == line.to || !g_hash_table_add(seen, g_memdup2(&key, sizeof key)))
                                continue;
                        if (lines->len == most)
                                return NULL;
                        g_array_append_val(lines, line);
                }
        }
        return g_steal_pointer(&lines);
}

/* How many layers the lines pass; LANES_MAX + 1: at least. */
static guint count_lanes(const GArray *lines, guint32 n)
{
        g_autofree guint32 *layers = g_new0(guint32, n + 1);
        g_autofree LayoutEdge *edges = g_new0(LayoutEdge, lines->len + 1);
        guint lanes = 0;

        for (guint i = 0; i < lines->len; i++)
                edges[i] = (LayoutEdge){ g_array_index(lines, BoxLine, i).from,
                                         g_array_index(lines, BoxLine, i).to };
        layout_layers(n, edges, lines->len, layers);
        for (guint i = 0; i < lines->len && lanes <= LANES_MAX; i++)
                lanes += layers[g_array_index(lines, BoxLine, i).to] -
                         layers[g_array_index(lines, BoxLine, i).from] - 1;
        return lanes;
}

/* Layers of components, BUCKETS at most, as one box each. */
static guint32 join_layers(const Build *build, Inside *inside)
{
        const Definition *definition = build->source.picture->definition;
        g_autoptr(GArray) edges = g_array_new(FALSE, FALSE, sizeof(LayoutEdge));
        g_autofree guint32 *layers = g_new0(guint32, inside->n + 1);
        guint32 most = 0, share, used = 0;
        g_autofree guint32 *numbers = NULL;

        for (guint32 i = 0; i < inside->n; i++) {
                const Component *at = &definition->components[inside->first + i];

                for (guint32 k = at->dependencies; k < at[1].dependencies; k++) {
                        const LayoutEdge edge = { definition->links[k] - inside->first, i };

                        g_array_append_val(edges, edge);
                }
        }
        layout_layers(inside->n, (const LayoutEdge *)(const void *)edges->data, edges->len, layers);
        for (guint32 i = 0; i < inside->n; i++)
                most = MAX(most, layers[i]);
        share = most / BUCKETS + 1;
        used = most / share + 1;
        for (guint32 i = 0; i < inside->n; i++)
                inside->box_of[i] = layers[i] / share;
        return used;
}

static GArray *chain_of(guint32 n)
{
        GArray *lines = g_array_new(FALSE, FALSE, sizeof(BoxLine));

        for (guint32 i = 1; i < n; i++) {
                const BoxLine line = { .from = i - 1, .to = i };

                g_array_append_val(lines, line);
        }
        return lines;
}

static Box *grid_new(guint32 n)
{
        g_autofree char *count = count_format(n, "step");
        Box *box = box_new(BOX_GRID, count);

        box->children = g_ptr_array_new_with_free_func((GDestroyNotify)box_free);
        box->lines = g_array_new(FALSE, FALSE, sizeof(BoxLine));
        return box;
}

/* The box of several components, for the first of them. */
static Box *several_new(Build *build, const Inside *inside, guint32 component, guint32 n)
{
        if (inside->alike && n <= GRID_MAX && build->boxes + n <= PICTURE_BOXES_MAX) {
                build->boxes += n;
                return grid_new(n);
        }
        build->less = true;
        return picture_stack_new(component_name(build->source.picture->definition, component));
}

/* Fills the boxes: one for one component, a grid or a stack for several. False: the work was cancelled. */
static bool fill_boxes(Build *build, Inside *inside, guint32 n, const Box *dag)
{
        g_autofree guint32 *counts = g_new0(guint32, n + 1), *lasts = g_new0(guint32, n + 1);

        inside->boxes = g_ptr_array_new_with_free_func((GDestroyNotify)box_free);
        g_ptr_array_set_size(inside->boxes, (gint)n);
        for (guint32 i = 0; i < inside->n; i++) {
                counts[inside->box_of[i]]++;
                lasts[inside->box_of[i]] = inside->first + i;
        }
        for (guint32 i = 0; i < inside->n; i++) {
                guint32 component = inside->first + i, at = inside->box_of[i];
                Box *box;

                if (!cancel_check())
                        return false;
                box = inside->boxes->pdata[at];
                if (counts[at] == 1) {
                        inside->boxes->pdata[at] =
                                picture_component(&build->source, component, dag->part, dag->state);
                        continue;
                }
                if (!box)
                        box = inside->boxes->pdata[at] = several_new(build, inside, component, counts[at]);
                if (box->kind == BOX_GRID)
                        g_ptr_array_add(box->children,
                                        picture_component(&build->source, component, dag->part, dag->state));
                else
                        picture_stack_add(&build->source, box, component, dag->part, dag->state);
        }
        for (guint32 i = 0; i < n; i++)
                if (((Box *)inside->boxes->pdata[i])->kind == BOX_STACK)
                        picture_stack_finish(&build->source, inside->boxes->pdata[i],
                                             component_name(build->source.picture->definition, lasts[i]));
        return true;
}

/* False: there is no place for its boxes; the box of the DAG says how many components it has. */
static bool fit_inside(Build *build, Inside *inside, bool outermost, guint32 *ret_n)
{
        join_alike(build, inside, ret_n);
        inside->alike = true;
        if (build->boxes + *ret_n <= PICTURE_BOXES_MAX)
                inside->lines = find_lines(build, inside, PICTURE_LINES_MAX - build->lines);
        if (inside->lines && count_lanes(inside->lines, *ret_n) > LANES_MAX)
                g_clear_pointer(&inside->lines, g_array_unref);
        if (inside->lines)
                return true;
        build->less = true;
        if (!outermost)
                return false;
        inside->alike = false;
        *ret_n = join_layers(build, inside);
        inside->lines = chain_of(*ret_n);
        return true;
}

static void open_children(Build *build, Box *dag)
{
        for (guint i = 0; i < dag->children->len; i++) {
                Box *child = dag->children->pdata[i];

                if (child->kind == BOX_DAG)
                        g_queue_push_tail(&build->open, child);
        }
}

static void leave_closed(Build *build, Box *dag)
{
        const Component *at = picture_body(&build->source, dag->component);

        build->less = true;
        picture_note(dag, count_format(at[1].children - at->children, "component"));
}

/* Marks the lines between boxes that follow each other in the longest chain, and in a row of stacks those between them. */
static void mark_lines(const Build *build, const Inside *inside, guint32 part)
{
        const GArray *links = build->source.marks ? chain_marks_links(build->source.marks, part) : NULL;

        for (guint i = 0; links && i < links->len; i++) {
                const ChainLink *link = &g_array_index(links, ChainLink, i);
                guint32 from = inside->box_of[link->from - inside->first],
                        to = inside->box_of[link->to - inside->first];

                for (guint k = 0; k < inside->lines->len; k++) {
                        BoxLine *line = &g_array_index(inside->lines, BoxLine, k);

                        line->chain |= inside->alike ? line->from == from && line->to == to
                                                     : line->from >= from && line->to <= to;
                }
        }
}

static void expand(Build *build, Box *dag, guint32 body, bool outermost)
{
        const Component *at = &build->source.picture->definition->components[body];
        g_auto(Inside) inside = { .first = at->children, .n = at[1].children - at->children };
        guint32 n;

        inside.box_of = g_new0(guint32, inside.n + 1);
        if (!fit_inside(build, &inside, outermost, &n)) {
                leave_closed(build, dag);
                return;
        }
        if (!fill_boxes(build, &inside, n, dag))
                return;
        mark_lines(build, &inside, dag->part);
        build->boxes += n;
        build->lines += inside.lines->len;
        dag->children = g_steal_pointer(&inside.boxes);
        dag->lines = g_steal_pointer(&inside.lines);
        open_children(build, dag);
}

/* ---- levels ---- */

static guint32 boxes_inside(Build *build, guint32 body)
{
        const Component *at = &build->source.picture->definition->components[body];
        g_auto(Inside) inside = { .first = at->children, .n = at[1].children - at->children };
        gpointer known = g_hash_table_lookup(build->sizes, GUINT_TO_POINTER(body));
        guint32 n;

        if (known)
                return GPOINTER_TO_UINT(known);
        inside.box_of = g_new0(guint32, inside.n + 1);
        join_alike(build, &inside, &n);
        g_hash_table_insert(build->sizes, GUINT_TO_POINTER(body), GUINT_TO_POINTER(n));
        return n;
}

static guint32 boxes_of(Build *build, const Box *dag)
{
        return boxes_inside(build, component_target(build->source.picture->definition, dag->component));
}

static int compare_sizes(const void *a, const void *b)
{
        guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;

        return left < right ? -1 : left > right;
}

/* DAGs of a level with at most so many boxes are expanded: those of one size all or none. */
static guint32 level_limit(Build *build)
{
        guint n = build->open.length, i = 0, left = PICTURE_BOXES_MAX - MIN(build->boxes, PICTURE_BOXES_MAX);
        g_autofree guint32 *sizes = g_new(guint32, n + 1);
        guint32 limit = 0;

        for (GList *link = build->open.head; link; link = link->next)
                sizes[i++] = boxes_of(build, link->data);
        qsort(sizes, n, sizeof *sizes, compare_sizes);
        for (i = 0; i < n && sizes[i] <= left; i++) {
                left -= sizes[i];
                if (i + 1 == n || sizes[i + 1] != sizes[i])
                        limit = sizes[i];
        }
        return limit;
}

static void expand_level(Build *build)
{
        guint32 limit = level_limit(build);

        for (guint n = build->open.length; n > 0 && cancel_check(); n--) {
                Box *dag = g_queue_pop_head(&build->open);

                if (boxes_of(build, dag) <= limit)
                        expand(build, dag,
                               component_target(build->source.picture->definition, dag->component), false);
                else
                        leave_closed(build, dag);
        }
}

static Box *frame_new(const Build *build, const char *name, guint32 part)
{
        Box *box = box_new(BOX_FRAME, name);

        box->part = part;
        if (build->source.picture->run)
                box->state = (int)run_record_state(build->source.picture->run);
        return box;
}

/* ---- the whole ---- */

/* The entry points, and behind them post_process. */
static Box *build_all(Build *build)
{
        const Definition *definition = build->source.picture->definition;
        const Component *post = &definition->components[DEFINITION_POST];
        g_autoptr(Box) entries = frame_new(build, "entry points", RUN_PART_ROOT), end = NULL;
        const BoxLine line = { .from = 0,
                               .to = 1,
                               .always = true,
                               .chain = build->source.marks &&
                                        chain_marks_has(build->source.marks, RUN_PART_POST) &&
                                        chain_marks_has(build->source.marks, RUN_PART_ROOT) };
        Box *all;

        expand(build, entries, DEFINITION_ROOT, true);
        if (post->children < post[1].children) {
                end = frame_new(build, "post_process", RUN_PART_POST);
                expand(build, end, DEFINITION_POST, true);
        }
        while (build->open.length > 0 && cancel_check())
                expand_level(build);
        entries->state = BOX_DEFINITION;
        if (!end)
                return g_steal_pointer(&entries);
        end->state = BOX_DEFINITION;
        all = box_new(BOX_FRAME, "");
        all->children = g_ptr_array_new_with_free_func((GDestroyNotify)box_free);
        all->lines = g_array_new(FALSE, FALSE, sizeof(BoxLine));
        g_ptr_array_add(all->children, g_steal_pointer(&entries));
        g_ptr_array_add(all->children, g_steal_pointer(&end));
        g_array_append_val(all->lines, line);
        return all;
}

static char *heading_of(const Picture *picture)
{
        const RunRecord *run = picture->run;
        const char *name = definition_text(picture->definition, picture->definition->name);
        g_autofree char *time = NULL, *short_name = NULL;

        if (!run)
                return g_strdup(name);
        short_name = text_cut(run->name, HEADING_NAME, "…"); /* id and state are seen behind a long one */
        time = duration_format(MAX((run->finished ? run->finished : picture->now) - run->created, 0));
        return g_strdup_printf("%s (%s): %s, %s", short_name, run->id,
                               run->paused > 0 && run->state == NODE_RUNNING
                                       ? "paused"
                                       : node_state_name(run_record_state(run)),
                               time);
}

/* What a reader should know of the whole; NULL: nothing. */
static char *remark_of(const Build *build)
{
        const RunRecord *run = build->source.picture->run;
        bool partial = run && run_parts_are_partial(build->source.picture->parts);
        g_autofree char *rest = run ? g_strdup_printf("`paddle run show %s` lists the rest", run->id)
                                    : g_strdup("`paddle pipeline show` lists all");

        if (!build->less && !partial)
                return NULL;
        return g_strdup_printf("%s%s%s: %s",
                               build->less ? "large: alike and inner steps are drawn as one box" : "",
                               build->less && partial ? ", and " : "",
                               partial ? "the states of some components are not known" : "", rest);
}

/* "longest chain: 12.3 s in 4 steps" */
static char *chain_text(const Build *build)
{
        const GArray *chain = build->source.picture->chain;
        g_autofree char *time =
                build->source.marks ? duration_format(chain_marks_time(build->source.marks)) : NULL;
        g_autofree char *steps = build->source.marks ? count_format(chain->len, "step") : NULL;

        return build->source.marks && chain->len > 0 ? g_strdup_printf("longest chain: %s in %s", time, steps)
                                                     : NULL;
}

static char *draw_page(const Build *build, const Box *all)
{
        const RunRecord *run = build->source.picture->run;
        g_autofree char *heading = heading_of(build->source.picture), *remark = remark_of(build),
                        *chain = chain_text(build);
        g_autofree char *about = run && run->message ? picture_line(run->message)
                                                     : definition_count(build->source.picture->definition);
        const BoxPage page = { .heading = heading, .about = { about, remark }, .chain = chain };

        return box_draw(all, &page);
}

/* How badly it fits a page. */
static double misfit(const Box *box)
{
        return MAX(box->width, 1.4 * box->height);
}

/* False: the work was cancelled. */
static bool place(Box *all)
{
        double down;

        box_place(all, true);
        down = misfit(all);
        if (!cancel_check())
                return false;
        box_place(all, false);
        if (down < misfit(all) * 0.75)
                box_place(all, true);
        return true;
}

static void build_clear(Build *build)
{
        g_hash_table_unref(build->sizes);
        g_queue_clear(&build->open);
        chain_marks_free(build->source.marks);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Build, build_clear)

char *picture_draw(const Picture *picture)
{
        g_auto(Build) build = { .source.picture = picture };
        g_autoptr(Box) all = NULL;

        g_queue_init(&build.open);
        build.sizes = g_hash_table_new(NULL, NULL);
        if (picture->parts && picture->chain)
                build.source.marks = chain_marks_new(picture->parts, picture->chain);
        all = build_all(&build);
        if (!cancel_check()) /* what was built is not whole */
                return NULL;
        return place(all) ? draw_page(&build, all) : NULL;
}
