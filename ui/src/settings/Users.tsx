import { Checkbox } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api } from "@/api/client";
import { useWhyNot } from "@/login/rights";
import { ListAndDetail } from "./ListAndDetail";
import { NewNamed } from "./NewNamed";
import { userList } from "./queries";
import { User } from "./User";

/** The accounts, each with what is not usual of it. */
export function Users() {
  const { t } = useTranslation("settings");
  const whyNot = useWhyNot("ADMIN");
  const found = useQuery(userList);
  const [isAdmin, setIsAdmin] = useState(false);
  return (
    <ListAndDetail
      section="users"
      of={found}
      keyOf={(each) => each.id}
      row={({ name, is_admin, disabled_at }) => [
        name,
        disabled_at ? t("disabled") : is_admin ? t("administrator") : undefined,
      ]}
      whyNot={whyNot}
      form={
        <NewNamed
          section="users"
          label={t("newUser")}
          create={(name) => api.POST("/api/v1/users", { body: { name, is_admin: isAdmin } })}
          keyOf={(made) => made.id}
          said={(made) => t("userMade", { name: made.name })}
        >
          <Checkbox
            label={t("administrator")}
            checked={isAdmin}
            onChange={(event) => setIsAdmin(event.currentTarget.checked)}
          />
        </NewNamed>
      }
    >
      {(each) => <User user={each} />}
    </ListAndDetail>
  );
}
