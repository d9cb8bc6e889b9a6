"""Requests about users."""

from ..common.session import Answer, Session, at, listed
from ..common.values import taken
from .user_info import UserInfo


class UserServiceApi(Session):
    """The part of a client that asks for users."""

    def add_user(self, user_name: str, password: str) -> Answer:
        """(True, None)."""
        self.need("InvalidUser", user_name=user_name)
        self.need("InvalidPassWord", password=password)
        return self.ask("POST", "/user", body={"username": user_name, "password": password})

    def del_user(self, user_name: str) -> Answer:
        """(True, None)."""
        self.need("InvalidUser", user_name=user_name)
        return self.ask("DELETE", at("user", user_name))

    def list_user(self, maxsize: int = 100) -> Answer:
        """(True, [UserInfo])."""
        self.positive(maxsize=maxsize)
        return self.ask(
            "GET",
            "/user",
            lambda data: listed(data, "userList", lambda user: taken(UserInfo, "name createTime", user)),
            {"maxKeys": maxsize},
        )

    def update_password(self, name: str, password: str) -> Answer:
        """(True, None)."""
        self.need("InvalidUser", name=name)
        self.need("InvalidPassWord", password=password)
        return self.ask("PUT", at("user", name), body={"password": password})
