"""2.1 users, 1.5 log-in and tokens."""

import pytest

from paddleflow.client import PASSWORD, RFC3339, case, check, fresh, good, has_keys, matches, pages, refused, table


def new(**about):
    return {"username": "nobody1", "password": PASSWORD, **about}


REFUSED = [
    case("1.5 login not JSON", "POST", "/login", "{", "MalformedJSON", who=None),
    case("1.5 login empty body", "POST", "/login", "", "MalformedJSON", who=None),
    case(
        "1.5 login trailing text",
        "POST",
        "/login",
        '{"username":"root","password":"paddleflow"} x',
        "MalformedJSON",
        who=None,
    ),
    case("1.5 login name of wrong type", "POST", "/login", {"username": 5, "password": "x"}, "MalformedJSON", who=None),
    case("1.5 login an array", "POST", "/login", [], "MalformedJSON", who=None),
    case("2.1 POST user not JSON", "POST", "/user", "name=x", "MalformedJSON"),
    case("2.1 POST user empty body", "POST", "/user", "", "MalformedJSON"),
    case("2.1 POST user name of wrong type", "POST", "/user", {"username": 7, "password": PASSWORD}, "MalformedJSON"),
    case("2.1 POST user name missing", "POST", "/user", {"password": PASSWORD}, "InvalidNamePattern"),
    case("2.1 POST user name empty", "POST", "/user", new(username=""), "InvalidNamePattern"),
    case("2.1 POST user name null", "POST", "/user", new(username=None), "InvalidNamePattern"),
    case("2.1 POST user name of 3", "POST", "/user", new(username="abc"), "InvalidNamePattern"),
    case("2.1 POST user name of 17", "POST", "/user", new(username="a" * 17), "InvalidNamePattern"),
    case("2.1 POST user name with a dash", "POST", "/user", new(username="ab-cd"), "InvalidNamePattern"),
    case("2.1 POST user name with an underscore", "POST", "/user", new(username="ab_cd"), "InvalidNamePattern"),
    case("2.1 POST user name with a space", "POST", "/user", new(username="ab cd"), "InvalidNamePattern"),
    case("2.1 POST user name not ASCII", "POST", "/user", new(username="anné1"), "InvalidNamePattern"),
    case("2.1 POST user name with a newline", "POST", "/user", new(username="abcd\n"), "InvalidNamePattern"),
    case("2.1 POST user password missing", "POST", "/user", {"username": "nobody1"}, "UserPasswordWeak"),
    case("2.1 POST user password of 5", "POST", "/user", new(password="abcd1"), "UserPasswordWeak"),
    case("2.1 POST user password without a digit", "POST", "/user", new(password="abcdef"), "UserPasswordWeak"),
    case("2.1 POST user password without lower case", "POST", "/user", new(password="ABCDE1"), "UserPasswordWeak"),
    case("2.1 POST user password of digits", "POST", "/user", new(password="123456"), "UserPasswordWeak"),
    case(
        "2.1 POST user name before password", "POST", "/user", {"username": "a", "password": "a"}, "InvalidNamePattern"
    ),
    case(
        "2.1 POST user password before root only",
        "POST",
        "/user",
        {"username": "<alice>", "password": "a"},
        "UserPasswordWeak",
        who="<alice>",
    ),
    case(
        "2.1 POST user by another",
        "POST",
        "/user",
        {"username": "<alice>", "password": PASSWORD},
        "OnlyRootAllowed",
        who="<alice>",
    ),
    case("2.1 POST user for another", "POST", "/user", new(), "AuthIllegalUser", who="<alice>"),
    case("2.1 POST user taken", "POST", "/user", {"username": "<alice>", "password": PASSWORD}, "UserNameDuplicated"),
    case("2.1 POST user root", "POST", "/user", new(username="root"), "UserNameDuplicated"),
    case("2.1 GET user by another", "GET", "/user", None, "AccessDenied", who="<alice>"),
    case("2.1 GET user unknown", "GET", "/user?user=nobody1", None, "UserNotExist"),
    case("2.1 PUT user not JSON", "PUT", "/user/<alice>", "{", "MalformedJSON"),
    case("2.1 PUT user empty body", "PUT", "/user/<alice>", "", "MalformedJSON"),
    case("2.1 PUT user weak", "PUT", "/user/<alice>", {"password": "abcdef"}, "UserPasswordWeak"),
    case("2.1 PUT user without a password", "PUT", "/user/<alice>", {}, "UserPasswordWeak"),
    case("2.1 PUT user weak before unknown", "PUT", "/user/nobody1", {"password": "a"}, "UserPasswordWeak"),
    case("2.1 PUT user unknown", "PUT", "/user/nobody1", {"password": PASSWORD}, "UserNotExist"),
    case(
        "2.1 PUT user unknown before denied",
        "PUT",
        "/user/nobody1",
        {"password": PASSWORD},
        "UserNotExist",
        who="<alice>",
    ),
    case("2.1 PUT user of another", "PUT", "/user/<bobby>", {"password": PASSWORD}, "AccessDenied", who="<alice>"),
    case("2.1 PUT user root by another", "PUT", "/user/root", {"password": PASSWORD}, "AccessDenied", who="<alice>"),
    case("2.1 DELETE user by another", "DELETE", "/user/<bobby>", None, "AccessDenied", who="<alice>"),
    case("2.1 DELETE user oneself", "DELETE", "/user/<alice>", None, "AccessDenied", who="<alice>"),
    case("2.1 DELETE user unknown by another", "DELETE", "/user/nobody1", None, "AccessDenied", who="<alice>"),
    case("2.1 DELETE user root", "DELETE", "/user/root", None, "AccessDenied"),
    case("2.1 DELETE user unknown", "DELETE", "/user/nobody1", None, "UserNotExist"),
]


@table(REFUSED)
def test_refused(flow, alice, bobby, row):
    check(flow, row, {"alice": alice, "bobby": bobby})


@pytest.mark.parametrize("name", ["abcd", "A123", "0000", "a" * 16], ids=lambda name: f"2.1 POST user {name}")
def test_add(flow, name):
    reply = good(flow.post("/user", {"username": name, "password": PASSWORD}))
    assert reply.json == {"username": name}
    assert good(flow.login(name, PASSWORD)).json.keys() == {"authorization"}
    good(flow.delete(f"/user/{name}"), empty=True)


@pytest.mark.parametrize(
    "password", ["abcde1", "1abcde", "Abc de1", "pässword1", "a1" * 36], ids=lambda text: f"1.12 password {text[:9]}"
)
def test_passwords(flow, password):
    name = fresh("pass")
    good(flow.post("/user", {"username": name, "password": password}))
    good(flow.login(name, password))


def test_password_too_long(flow):
    """12, 2.1: more than 72 bytes is the caller's fault, not the server's."""
    refused(
        flow.post("/user", {"username": fresh("long"), "password": "a1" * 37}), "UserPasswordWeak", "InvalidArguments"
    )


def test_login(flow):
    reply = good(flow.login("root", "paddleflow"))
    assert set(reply.json) == {"authorization"}
    assert isinstance(reply.json["authorization"], str) and len(reply.json["authorization"]) >= 32
    again = good(flow.login("root", "paddleflow"))
    for token in (reply.json["authorization"], again.json["authorization"]):
        good(flow.get("/version", who=None, headers={"x-pf-authorization": token}))


def test_token_is_opaque(flow):
    """1.5: neither the password nor its hash is in the token, whatever it is made of."""
    token = flow.token("root")
    assert "." not in token and "argon" not in token and "paddleflow" not in token


@pytest.mark.parametrize(
    "user, password, code",
    [
        ("nobody1", "paddleflow", "UserNotExist"),
        ("ROOT", "paddleflow", "UserNotExist"),
        ("Root", "paddleflow", "UserNotExist"),
        ("root", "paddlefloW", "AuthFailed"),
        ("root", "", "AuthFailed"),
        ("root", "paddleflow ", "AuthFailed"),
    ],
    ids=lambda value: None,
)
def test_login_refused(make_flow, user, password, code):
    """1.5, 12: exact names. A server each, since failed log-ins slow down."""
    flow = make_flow()
    refused(flow.login(user, password), code)
    good(flow.login("root", "paddleflow"))


def test_members_of_login_are_told_apart_by_letters_alone(flow):
    """1.3"""
    good(flow.call("POST", "/login", {"UserName": "root", "PASSWORD": "paddleflow"}, who=None))


def test_list(flow, alice, bobby):
    page = good(flow.get("/user")).json
    has_keys(page, "maxKeys isTruncated userList", "nextMarker")
    assert page["maxKeys"] == 0  # 1.8
    names = [user["name"] for user in page["userList"]]
    assert "root" not in names
    assert names.index(alice) < names.index(bobby)  # insertion
    for user in page["userList"]:
        assert set(user) == {"name", "createTime"}
        matches(RFC3339, user["createTime"])


def test_list_pages(flow, alice, bobby):
    names = [flow.make_user("page") for _ in range(5)]
    everyone = [user["name"] for user in good(flow.get("/user?maxKeys=1000")).json["userList"]]
    assert pages(flow, "/user", "userList", "name") == everyone
    assert everyone[-5:] == names


def test_one(flow, alice):
    user = good(flow.get(f"/user?user={alice}")).json
    assert set(user) == {"name", "createTime"} and user["name"] == alice


def test_one_by_another(flow, alice, bobby):
    """12, 2.1: answers, and does not tell of others."""
    reply = flow.get(f"/user?user={bobby}", who=alice)
    if reply.status == 200:
        assert bobby not in good(reply).body.decode()
    else:
        refused(reply, "AccessDenied")


def test_change_by_root(flow):
    user = flow.make_user()
    old = flow.token(user)
    good(flow.get("/queue", who=user))
    good(flow.put(f"/user/{user}", {"password": "secret2"}), empty=True)
    refused(flow.get("/queue", who=None, headers={"x-pf-authorization": old}), "AuthFailed")
    refused(flow.login(user, PASSWORD), "AuthFailed")
    good(flow.login(user, "secret2"))


def test_change_by_oneself(flow):
    user = flow.make_user()
    good(flow.put(f"/user/{user}", {"password": "secret3"}, who=user), empty=True)
    refused(flow.get("/queue", who=user), "AuthFailed")
    good(flow.login(user, "secret3"))


def test_delete(flow):
    user = flow.make_user()
    queue = flow.make_queue()
    flow.grant(user, queue)
    good(flow.get("/queue", who=user))
    good(flow.delete(f"/user/{user}"), empty=True)
    refused(flow.get("/queue", who=user), "UserNotExist")
    refused(flow.login(user, PASSWORD), "UserNotExist")
    refused(flow.delete(f"/user/{user}"), "UserNotExist")
    assert user not in [item["name"] for item in good(flow.get("/user?maxKeys=1000")).json["userList"]]


def test_delete_takes_grants(flow):
    user = flow.make_user()
    queue = flow.make_queue()
    flow.grant(user, queue)
    good(flow.delete(f"/user/{user}"), empty=True)
    assert user not in [item["userName"] for item in good(flow.get("/grant?maxKeys=1000")).json["grantList"]]
    good(flow.post("/user", {"username": user, "password": PASSWORD}))
    flow.tokens.pop(user, None)
    assert good(flow.get("/queue", who=user)).json["queueList"] == []
    flow.grant(user, queue)


def test_the_seeded_account(make_flow):
    """6: root / paddleflow, seeded once: a changed password stays after a restart (9)."""
    flow = make_flow()
    good(flow.put("/user/root", {"password": "better1"}), empty=True)
    flow.server.stop()
    flow.server.start()
    flow.port = flow.server.port
    flow.tokens.clear()
    flow.passwords["root"] = "better1"
    refused(flow.login("root", "paddleflow"), "AuthFailed")
    good(flow.get("/user"))
