/* The setting of a cluster: what may stand in it, and what its errors name. */
#include "runtime/kubernetes/pod/setting.h"

#include <string.h>

#include "base/json.h"
#include "runtime/kubernetes/test/texts.h"

static void test_all(void)
{
        g_autofree char *text = quoted(
                " {`image`: `paddle:2.6.2`, `log_streams`: 20, `builder`: `b/buildah@sha256:00`,"
                "`operators`: [`mpi`], `allow_new_privileges`: [`ann`], `run_as_non_root`: true,"
                "`allow`: {`tolerations`: [`example.com/team`], `volumes`: [`nfs`, `csi`], `metadata`: "
                "[`example.com/`]},"
                "`mounts`: {`host_paths`: [`/data/%s`, `/sets`], `claims`: [`shared`]},"
                "`registry`: {`address`: `reg.local:5000/team`, `username`: `u`, `password`: `p`, "
                "`insecure`: true},"
                "`pip`: {`index`: `http://h:80/simple/`, `trusted`: [`h`, `h:80`]}, `datacenter`: `dc1`,"
                "`volumes`: {`dc1`: {`fstype`: `hostpath`, `host_path`: `/mnt/%s/100%%`, "
                "`mount_path`: `/pfs/%s/home/%s/`},"
                "`public`: {`fstype`: `cephfs`, `monitors_addr`: [`10.0.0.1:6789`], `cephfs_path`: "
                "`/public`, "
                "`user`: `admin`, `secret`: `ceph-secret`, `admin_key`: `/certs/admin.secret`},"
                "`c`: {`claim`: `homes`, `sub_path`: `h/%s`, `read_only`: true}}}");
        g_autoptr(GError) error = NULL;
        g_autoptr(Setting) setting = setting_parse(text, &error);
        const SettingVolume *volume;
        g_autofree char *path = NULL;

        g_assert_no_error(error);
        g_assert_cmpstr(setting->image, ==, "paddle:2.6.2");
        g_assert_cmpstr(setting->builder, ==, "b/buildah@sha256:00");
        g_assert_cmpstr(setting->operators[0], ==, "mpi");
        g_assert_null(setting->operators[1]);
        g_assert_cmpstr(setting->new_privileges[0], ==, "ann");
        g_assert_true(setting->non_root);
        g_assert_cmpstr(setting->allow.tolerations[0], ==, "example.com/team");
        g_assert_cmpstr(setting->allow.volumes[1], ==, "csi");
        g_assert_cmpstr(setting->allow.metadata[0], ==, "example.com/");
        g_assert_null(setting->allow.runtime_classes);
        g_assert_cmpstr(setting->mounts.host_paths[1], ==, "/sets");
        g_assert_cmpstr(setting->mounts.claims[0], ==, "shared");
        g_assert_cmpstr(setting->registry.address, ==, "reg.local:5000/team");
        g_assert_cmpstr(setting->registry.password, ==, "p");
        g_assert_true(setting->registry.insecure);
        g_assert_cmpstr(setting->pip.index, ==, "http://h:80/simple/");
        g_assert_cmpstr(setting->pip.trusted[1], ==, "h:80");
        volume = setting_volume(setting, setting->datacenter);
        g_assert_false(volume->read_only);
        path = setting_for_user(volume->host_path, "ann");
        g_assert_cmpstr(path, ==, "/mnt/ann/100%");
        g_assert_true(setting_volume(setting, "public")->read_only);
        g_assert_cmpstr(setting_volume(setting, "public")->monitors[0], ==, "10.0.0.1:6789");
        g_assert_true(setting_volume(setting, "c")->read_only);
        g_assert_null(setting_volume(setting, "d"));
}

static void test_notes(void)
{
        static const char *const texts[] = { NULL, "", "  ", "note", "[1]", "{}" };

        for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autoptr(GError) error = NULL;
                g_autoptr(Setting) setting = setting_parse(texts[i], &error);

                g_assert_no_error(error);
                g_assert_null(setting->image);
                g_assert_cmpuint(setting->volumes->len, ==, 0);
        }
}

static void test_refusals(void)
{
        static const struct {
                const char *text, *says;
        } cases[] = {
                { "{", "not valid JSON" },
                { "{`registry`: {`password`: `secret` `x`}}",
                  "not valid JSON at line 1, column 38: '}' expected" },
                { "{`imag`: `a`}", "'imag' is not a known field\nDid you mean 'image'? The fields are image, "
                                   "form, operators, builder, registry, "
                                   "pip, datacenter, volumes, volcano, log_streams" },
                { "{`image`: 7}", "image must be a string" },
                { "{`operators`: true}", "operators must be a list" },
                { "{`operators`: [`mpi`, `mxnet`]}",
                  "operators[1]: 'mxnet' is not one of tensorflow, pytorch, mpi, spark" },
                { "{`image`: ``}", "image: '' is not an image reference" },
                { "{`image`: `-x`}", "image: '-x' is not an image reference" },
                { "{`registry`: []}", "registry must be an object" },
                { "{`registry`: {`url`: `x`}}", "registry.'url' is not a known field\nThe fields are "
                                                "address, username, password, insecure" },
                { "{`builder`: `b`, `registry`: {`address`: `https://reg`}}",
                  "registry.address: 'https://reg' is not HOST[:PORT][/PREFIX]" },
                { "{`builder`: `b`, `registry`: {`insecure`: true}}", "registry.address is missing" },
                { "{`builder`: `b`, `registry`: {`address`: `r`, `insecure`: 1}}",
                  "registry.insecure must be true or false" },
                { "{`builder`: `b`, `registry`: {`address`: `r`, `username`: `u`}}",
                  "registry.password is missing" },
                { "{`builder`: `b`, `registry`: {`address`: `r`, `password`: `u`}}",
                  "registry.username is missing" },
                { "{`registry`: {`address`: `r`}}", "builder is missing" },
                { "{`pip`: {`index`: `ftp://x`}}", "pip.index: 'ftp://x' is not a URL" },
                { "{`pip`: {`trusted`: `x`}}", "pip.trusted must be a list" },
                { "{`pip`: {`trusted`: [`x`, 1]}}", "pip.trusted[1] must be a string" },
                { "{`pip`: {`trusted`: [`a b`]}}", "pip.trusted[0]: 'a b' is not a host" },
                { "{`egress`: [`10.0.0.0/8`]}", "network_policies is missing: egress is held" },
                { "{`network_policies`: true, `build_egress`: [`10.0.0.0/8:443`, `pypi.org`]}",
                  "build_egress[1]: 'pypi.org' is not ADDRESS[/BITS][:PORT]" },
                { "{`allow`: {`volumes`: [`nfs`, `hostPath`]}}",
                  "allow.volumes[1]: 'hostPath' is not a kind of" },
                { "{`allow`: {`tolerations`: [`*`]}}", "allow.tolerations[0]: '*' is not a key" },
                { "{`allow`: {`node`: []}}", "allow.'node' is not a known field" },
                { "{`volumes`: {`a`: {}}}", "volumes.a must have one of host_path, claim, monitors_addr" },
                { "{`volumes`: {`a`: 1}}", "volumes.a must be an object" },
                { "{`volumes`: {`a/b`: {}}}", "volumes.a/b: 'a/b' is not a name" },
                { "{`volumes`: {`a`: {`host_path`: `/%s`, `claim`: `%s`}}}", "volumes.a must have one of" },
                { "{`volumes`: {`a`: {`host_path`: `x/%s`}}}",
                  "volumes.a.host_path: 'x/%s' is not an absolute path" },
                { "{`volumes`: {`a`: {`host_path`: `/x/../%s`}}}",
                  "volumes.a.host_path: '/x/../%s' is not an absolute path" },
                { "{`volumes`: {`a`: {`host_path`: `/%d/%s`}}}", "%s is the user and %% a percent sign" },
                { "{`volumes`: {`a`: {`host_path`: `/%s/%`}}}", "%s is the user and %% a percent sign" },
                { "{`volumes`: {`a`: {`host_path`: `/homes`}}}",
                  "volumes.a: its path must contain %s for the user's name" },
                { "{`volumes`: {`a`: {`fstype`: `cephfs`, `host_path`: `/%s`}}}",
                  "volumes.a.fstype: 'cephfs' is not 'hostpath'" },
                { "{`volumes`: {`a`: {`host_path`: `/%s`, `sub_path`: `b`}}}",
                  "volumes.a.sub_path belongs to a claim" },
                { "{`volumes`: {`a`: {`monitors_addr`: [`h`], `cephfs_path`: `/%s`}}}",
                  "volumes.a must have cephfs_path, user and secret" },
                { "{`volumes`: {`a`: {`host_path`: `/%s`, `user`: `x`}}}",
                  "volumes.a: cephfs_path, user and secret belong to monitors_addr" },
                { "{`volumes`: {`a`: {`host_path`: `/%s`, `mount_path`: `/data/%s`}}}",
                  "volumes.a.mount_path: '/data/%s' is not" },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *text = quoted(cases[i].text);
                g_autoptr(GError) error = NULL;
                g_autoptr(Setting) setting = setting_parse(text, &error);

                if (!error || !strstr(error->message, cases[i].says))
                        g_error("%s: '%s' instead of '%s'", text, error ? error->message : "no error",
                                cases[i].says);
                g_assert_null(strstr(error->message, "near"));
                g_assert_null(setting);
        }
}

int main(int argc, char **argv)
{
        g_test_init(&argc, &argv, NULL);
        json_init();
        g_test_add_func("/setting/all", test_all);
        g_test_add_func("/setting/notes", test_notes);
        g_test_add_func("/setting/refusals", test_refusals);
        return g_test_run();
}
