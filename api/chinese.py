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
    "SH-1019": "没有这个地址",
    "SH-1099": "Shoal 内部错误",
}

DETAILS: Mapping[str, str] = {
    "its callback is not called": ("其回调不会被调用"),
    "1 draft of it must be published or discarded first": ("它的 1 份草稿须先发布或丢弃"),
    "later tasks follow their own start rules": ("后续任务遵循各自的启动规则"),
    "how many of it run at once in several runs is not limited; give it a pool": (
        "多个实例中同时运行的数量不受限制；请为它指定资源池"
    ),
    "add a case to the SWITCH for each list that it returns": ("请在 SWITCH 中为它返回的每个列表添加一个分支"),
    "create it before the workflow runs": ("请在工作流运行之前创建"),
    "a rejected task has no results; leave the values out": "被拒绝的任务没有结果；请不要填写值",
    "a rejection needs a reason, which becomes that of the task; give one": "拒绝需要理由，它会成为任务的原因；请填写",
    "workflows were changed at the same moment; nothing is saved, sync again": (
        "工作流在同一时刻被更改；未保存任何内容，请重新同步"
    ),
    "no log store is set here; set log_store.url as the workers have it": (
        "此处未设置日志存储；请将 log_store.url 设置为与工作节点相同的值"
    ),
    "log in, or send a token in the header Authorization: Bearer shoal_...": (
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
    "a workflow belongs to a project; name the project too": "工作流属于某个项目；请同时指明项目",
    "say when the silence ends: either ends_at or lasts_s": "请指明静默何时结束：ends_at 或 lasts_s 二选一",
    "the silence would end before it begins; give a later ends_at": "静默的结束时间早于开始时间；请给出更晚的 ends_at",
    "this alert group no longer exists: it was deleted": "该告警组已被删除",
    "this channel no longer exists: it was deleted": "该告警渠道已被删除",
    "this rule no longer exists: it was deleted": "该告警规则已被删除",
    "say which runs: either `ids` or `filter`": "请指明哪些运行：`ids` 或 `filter` 二选一",
    "`depend` needs `tasks`: it says whether tasks before or after those run too": (
        "`depend` 需要 `tasks`：它说明这些任务之前或之后的任务是否也运行"
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
    "Last-Event-ID is not one that an event had; begin without it": (
        "Last-Event-ID 不是任何事件的编号；请不带它重新开始"
    ),
    "only an account has a password; name the account: shoal user password NAME": (
        "只有账号才有密码；请指明账号：shoal user password NAME"
    ),
    "somebody else changed the password meanwhile; log in again, then repeat this": (
        "密码在此期间已被他人修改；请重新登录后再重试"
    ),
    "the process that handled this request ended; ask whether it was done": (
        "处理此请求的进程已结束；请查询操作是否已完成"
    ),
    "password of your own account is missing; send it as `password`": "缺少您自己账号的密码；请在 `password` 中提供",
    "your account has no password yet; set one first, then make the token with it": (
        "您的账号尚无密码；请先设置密码，再用它新建令牌"
    ),
    "this login link has not begun a session or has expired; give the password instead": (
        "该登录链接未用于登录或已过期；请改用密码"
    ),
    "this is the last admin who may log in; make another account an admin first": (
        "这是最后一个可以登录的管理员；请先将另一个账号设为管理员"
    ),
    "there is no key; set secrets.keys or secrets.key_file, see docs/guides/data-sources.md": (
        "没有密钥；请设置 secrets.keys 或 secrets.key_file，参见 docs/guides/data-sources.md"
    ),
    "arrived_before must be later than arrived_after, and at most one hour later": (
        "arrived_before 必须晚于 arrived_after，且最多晚一小时"
    ),
    "the first bar begins after the last one ends; give an earlier `since` or `started_after`": (
        "第一个区间的开始晚于最后一个区间的结束；请给出更早的 `since` 或 `started_after`"
    ),
    "`started_before` is too early: the calendar has no whole day before it; give a later one": (
        "`started_before` 过早：在它之前日历中没有完整的一天；请给出更晚的时间"
    ),
    "`text` and `errors` are two things to look for; keep one of them": (
        "`text` 和 `errors` 是两种查找内容；请只保留一种"
    ),
    "the draft contains a NUL or half a character, which the database does not take; remove it": (
        "草稿包含 NUL 或不完整的字符，数据库无法存储；请将其删除"
    ),
    "`misfire` and `misfire_grace_s` cannot be taken away; give a value": (
        "`misfire` 和 `misfire_grace_s` 不能去掉；请给出一个值"
    ),
    "say what to change, such as `cron`, `time_zone`, `start_time`, `end_time`, `params` or `state`": (
        "请指明要修改的内容，例如 `cron`、`time_zone`、`start_time`、`end_time`、`params` 或 `state`"
    ),
    "give the task either as `yaml` or as `task`": "任务请以 `yaml` 或 `task` 之一给出",
    "this is the answer to another login; log in again": "这是另一次登录的应答；请重新登录",
    "this login has ended already; log in again": "此次登录已经结束；请重新登录",
}
"""Sentences without names."""

TEMPLATES: Mapping[str, str] = {
    "{name} may not do this: it needs {right} {where}": "{name} 无权执行此操作：需要{where}的 {right} 权限",
    "there is no such {thing} that {name} may see; look at the id or the name, or ask an owner of its project for a "
    "role": ("不存在 {name} 可以查看的 {thing}；请检查编号或名称，或向其项目的所有者申请角色"),
    "this token may not be used here: it needs the scope {scope}; make another token": (
        "此处不能使用该令牌：需要范围 {scope}；请另建一个令牌"
    ),
    "say which version is to be changed: If-Match, with the ETag that was read ({version})": (
        "请指明要修改的版本：在 If-Match 中给出所读取的 ETag（{version}）"
    ),
    'there is no {kind} "{name}"; {known}': "没有名为“{name}”的 {kind}；{known}",
    "known: {names}": "已知的有：{names}",
    "none is alive or drained; start one: shoal {kind}": "没有存活或已排空的节点；请启动一个：shoal {kind}",
    "{count} {kind}s have the address {address}; say which by its name: {names}": (
        "有 {count} 个 {kind} 使用地址 {address}；请用名称指明：{names}"
    ),
    "{kind} {name} is of a version of Shoal that cannot be drained; stop it with SIGTERM: it takes nothing new then, "
    "and what runs gets some time to end": (
        "{kind} {name} 的 Shoal 版本不支持排空；请用 SIGTERM 停止它：它不再接收新的工作，正在运行的工作有一些时间结束"
    ),
    'there is a project "{name}" already': "项目“{name}”已存在",
    'project "{name}" cannot be deleted: it has workflows, such as {named}; delete those first': (
        "无法删除项目“{name}”：其中有工作流，例如 {named}；请先删除这些工作流"
    ),
    'workflow "{name}" has no version {version}': "工作流“{name}”没有版本 {version}",
    'workflow "{name}" is OFFLINE; put it ONLINE before starting it: shoal workflow online {named}': (
        "工作流“{name}”处于 OFFLINE；启动前请先上线：shoal workflow online {named}"
    ),
    "too many logins failed for this name or from this address; try again in {seconds} s": (
        "此用户名或此地址的登录失败次数过多；请在 {seconds} 秒后重试"
    ),
    "no login was begun in this browser within 10 minutes; begin it at {url}": (
        "此浏览器在 10 分钟内没有开始登录；请从 {url} 开始"
    ),
    "{name} refused the login: {why}; log in again": "{name} 拒绝了登录：{why}；请重新登录",
    "{name} refused the login: {why}; ask its admin": "{name} 拒绝了登录：{why}；请联系其管理员",
    "{name} does not answer ({why}); try again, or log in by password": (
        "{name} 没有应答（{why}）；请重试，或使用密码登录"
    ),
    "by this machine's clock the id token of {name} is of another time; set both clocks right": (
        "按本机时钟，{name} 的身份令牌不在有效时间内；请校准双方的时钟"
    ),
    "only some groups of {name} may log in here, and you are in none of them; ask an admin": (
        "只有 {name} 的某些组可以登录，而您不属于其中任何一个；请联系管理员"
    ),
    "only some groups of {name} may log in here, and the claim {claim} is missing; ask an admin": (
        "只有 {name} 的某些组可以登录，但缺少声明 {claim}；请联系管理员"
    ),
    'the account "{account}" is not that of {name}: it is an admin, has a password, or belongs to another person '
    "there; log in by password, or ask an admin": (
        "账号“{account}”不属于 {name}：它是管理员、设有密码，或属于那里的另一个人；请使用密码登录，或联系管理员"
    ),
    "there is no run {id}; `shoal runs` lists those there are": "不存在运行 {id}；`shoal runs` 列出现有的运行",
    "there is no account {id}; `shoal user list` shows those there are": (
        "不存在账号 {id}；`shoal user list` 列出现有的账号"
    ),
    'there is an account "{name}" already; choose another name': "账号“{name}”已存在；请换一个名称",
    'the account "{name}" is disabled; enable it first': "账号“{name}”已停用；请先启用",
    'somebody else changed the account "{name}" meanwhile; read it again, then change it': (
        "账号“{name}”已被其他人修改；请重新读取后再修改"
    ),
    'there is a token "{name}" already; revoke it, or choose another name': (
        "令牌“{name}”已存在；请吊销它，或换一个名称"
    ),
    "the header {name} is not that of this session; load the page again": (
        "请求头 {name} 不属于此会话；请重新加载页面"
    ),
    "there is no error command {id}; `shoal queue errors` lists those there are": (
        "不存在失败的命令 {id}；`shoal queue errors` 列出现有的命令"
    ),
    "the password has fewer than {least} characters; choose a longer one, there is no other rule for its characters": (
        "密码少于 {least} 个字符；请选择更长的密码，对字符没有其他要求"
    ),
    'the file "{path}" has {size} bytes, more than {most}': "文件“{path}”有 {size} 字节，超过 {most}",
    'there is no account "{account}"; ask an admin for one': "账号“{account}”不存在；请向管理员申请",
    "your login at {issuer} is more than 5 minutes old; log out and in again, then repeat this": (
        "您在 {issuer} 的登录已超过 5 分钟；请退出并重新登录，然后重试"
    ),
    "your account logs in at {issuer}; an admin can set a password for it": (
        "您的账号在 {issuer} 登录；管理员可以为它设置密码"
    ),
    'project "{project}" has a workflow "{name}" already': ("项目“{project}”已有工作流“{name}”"),
    'workflow "{name}" is in project "{project}" already': ("工作流“{name}”已在项目“{project}”中"),
    'there is no project "{project}"; the first workflow or parameter saved in one creates it': (
        "项目“{project}”不存在；在项目中保存第一个工作流或参数即会创建它"
    ),
    'workflow "{name}" cannot be moved: {reasons}': ("工作流“{name}”无法移动：{reasons}"),
    "{number} drafts of it must be published or discarded first": ("它的 {number} 份草稿须先发布或丢弃"),
    "{which} names it, and {name} may not change that one; ask who may to move it": (
        "{which} 引用了它，而 {name} 无权修改；请由有权者移动"
    ),
    'workflow "{name}" of project "{project}"': ("项目“{project}”的工作流“{name}”"),
    "run {run} has not ended (shoal stop {which})": "实例 {run} 尚未结束（shoal stop {which}）",
    "runs {runs} have not ended (shoal stop {which})": "实例 {runs} 尚未结束（shoal stop {which}）",
    "command {command} waits for a master (shoal queue)": "命令 {command} 正在等待 master（shoal queue）",
    "commands {commands} wait for a master (shoal queue)": "命令 {commands} 正在等待 master（shoal queue）",
    'the worker group "{name}"': "Worker 分组“{name}”",
    'the tenant "{name}"': "租户“{name}”",
    'project "{project}" may not use {thing}, only {others}; name one of those, or ask an admin': (
        "项目“{project}”不可使用 {thing}，只可使用 {others}；请改用其中之一，或联系管理员"
    ),
    'project "{project}" has no parameter "{name}", which it uses': ("它使用参数“{name}”，而项目“{project}”没有该参数"),
    'project "{project}" has another value for the parameter "{name}", which it uses': (
        "它使用参数“{name}”，而该参数在项目“{project}”中的值不同"
    ),
    'in {number} of its older versions, names of workflows and data sources mean those of "{project}" then': (
        "此后在它的 {number} 个旧版本中，工作流和数据源的名称指“{project}”中的对象"
    ),
    'project "{project}" has had a workflow of that name since a moment ago; rename one of the two first': (
        "项目“{project}”刚刚已有同名工作流；请先重命名其中一个"
    ),
    'it keeps its files as saved; before you change it, put {files} into "{project}"': (
        "它保留已保存的文件；修改前请将 {files} 放入“{project}”"
    ),
    'workflow "{name}" of project "{whose}" waits for datasets of "{project}", which it updates': (
        "项目“{whose}”的工作流“{name}”等待“{project}”的数据集，而它会更新这些数据集"
    ),
    'alert rules of "{project}" name it: write {rules} in "{new}"': (
        "“{project}”的告警规则引用了它：请在“{new}”中编写 {rules}"
    ),
    'silences of "{project}" no longer cover it: {silences}': ("“{project}”的静默不再适用于它：{silences}"),
    "case {number}, {when}: {fault}": "分支 {number}，{when}：{fault}",
    "there is no parameter {name}; give it a value or remove ${{again}}": (
        "没有参数 {name}；请给它一个值，或移除 ${{{again}}}"
    ),
    "it cannot be read; write it like {example}": ("无法读取；请写成 {example} 的形式"),
    "{word} means nothing here; write {right}": ("{word} 在此处没有意义；请写 {right}"),
    "an operator such as && or == is missing before {shown}; add it": ("{shown} 之前缺少 && 或 == 等运算符；请补上"),
    "there is no function {word} here; {cure}": ("此处没有函数 {word}；{cure}"),
    "what the group {name} returns": ("组 {name} 返回的内容"),
    '{where}there is no {kind} "{name}"; {cure}': ("{where}没有名为“{name}”的 {kind}；{cure}"),
    'task "{task}": {fault}': ("任务“{task}”：{fault}"),
}
"""Sentences with names: what stands in braces is put into the translation, itself translated if that is possible."""

FAULTS: Mapping[str, str] = {
    "Field required": "必须填写",
    "Input should be a valid string": "应为文本",
    "Input should be a valid integer": "应为整数",
    "/{field}: {fault}": "/{field}：{fault}",
    "String should have at least {count} character": "至少需要 {count} 个字符",
    "String should have at least {count} characters": "至少需要 {count} 个字符",
    "String should have at most {count} characters": "最多 {count} 个字符",
    "Input should be greater than or equal to {least}": "不能小于 {least}",
    "Input should be less than or equal to {most}": "不能大于 {most}",
}
"""What pydantic says is wrong with a field, likewise."""
