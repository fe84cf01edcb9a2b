"""The Chinese titles of problems by their codes, and sentences by what they are in English."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, str] = {
    "SH-1001": "无法确认请求者的身份",
    "SH-1002": "缺少权限",
    "SH-1003": "不存在",
    "SH-1004": "内容已被修改",
    "SH-1005": "缺少所读取的版本",
    "SH-1006": "请求过于频繁",
    "SH-1007": "无法执行",
    "SH-1008": "服务器没有应答",
    "SH-1009": "无法确定是否已执行",
    "SH-1010": "字段有误",
    "SH-1011": "无法读取请求",
    "SH-1012": "请求过大",
    "SH-1013": "该地址不支持此方法",
    "SH-1014": "相同的请求正在处理中",
    "SH-1015": "幂等键已用于另一个请求",
    "SH-1016": "服务器名称不符",
    "SH-1017": "内容没有那么长",
    "SH-1018": "打开的流过多",
    "SH-1099": "Shoal 内部错误",
}

DETAILS: Mapping[str, str] = {
    "say who asks: a token in the header Authorization: Bearer shoal_..., or log in": (
        "请说明请求者：在请求头中提供令牌 Authorization: Bearer shoal_...，或者先登录"
    ),
    "the header Authorization cannot be read; write Authorization: Bearer shoal_...": (
        "无法读取请求头 Authorization；请写成 Authorization: Bearer shoal_..."
    ),
    "the session has ended; log in again": "会话已结束；请重新登录",
    "this token is unknown, revoked or expired; make a new one": "该令牌不存在、已撤销或已过期；请新建一个",
    "the name or the password is wrong; try again, or ask an admin for a login link": (
        "用户名或密码错误；请重试，或向管理员索取登录链接"
    ),
    "this login link was used already or has expired; make another: shoal user link NAME": (
        "该登录链接已被使用或已过期；请重新生成：shoal user link NAME"
    ),
    "the account is disabled; ask an admin": "该账号已停用；请联系管理员",
    "too many logins are being checked; try again in a few seconds": "正在验证的登录过多；请几秒后重试",
    "log in with `name` and `password`, or with `link`": "请使用 `name` 和 `password` 登录，或使用 `link`",
    "a page of another site asks for this login; open the address of Shoal itself": (
        "此登录请求来自其他网站的页面；请直接打开 Shoal 的地址"
    ),
    "a token has no session; leave the header Authorization out, or revoke the token": (
        "令牌没有会话；请去掉请求头 Authorization，或撤销该令牌"
    ),
    "this server is not reached under that name; add it to api.hosts in the settings if it is right": (
        "此服务器不使用该名称；如果名称正确，请将其加入设置 api.hosts"
    ),
    "Content-Length is not a number": "Content-Length 不是数字",
    "the database does not let the API in": "数据库拒绝了 API 的访问",
    "the cursor is not one that a page gave; begin without one": "该游标不是由分页返回的；请不带游标重新开始",
    "give the content either as `yaml` or as `spec`": "请以 `yaml` 或 `spec` 之一提供内容",
    "say which runs: either `ids` or `filter`": "请指明哪些运行：`ids` 或 `filter` 二选一",
    "`depend` says what runs beside the tasks of `tasks`; name those too": (
        "`depend` 说明 `tasks` 之外还运行哪些任务；请同时给出 `tasks`"
    ),
    "`failed` and `tasks` are two ways to say what runs again; keep one of them": (
        "`failed` 和 `tasks` 是指定重新运行内容的两种方式；请只保留一种"
    ),
    "`dates` and `from` are two ways to say when; keep one of them": (
        "`dates` 和 `from` 是指定日期的两种方式；请只保留一种"
    ),
    "say for which dates: `from` 2026-01-01 `to` 2026-01-31, or `dates` with 2026-01-31": (
        "请指明日期：`from` 2026-01-01 `to` 2026-01-31，或在 `dates` 中给出 2026-01-31"
    ),
    "give the new content either as `yaml` or as `spec`": "新内容请以 `yaml` 或 `spec` 之一给出",
    "the form cannot be read; load the page again": "无法读取表单；请重新加载页面",
}
"""Without those that name something: these are made when they are needed."""
