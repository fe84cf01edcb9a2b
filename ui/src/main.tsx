import "./app/styles";
import "./parts/tokens.css";
import "./parts/parts.css";
import "./app/app.css";
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, Suspense } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/queries";
import { colorSchemes } from "./app/colorSchemes";
import { router, startLoading } from "./app/router";
import { theme, variables } from "./app/theme";
import { startWords } from "./words/i18n";

const words = startWords();
startLoading();
await words;
const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no root");
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";
// The library that keeps the page still behind a dialog takes the nonce of its style from here.
Object.assign(globalThis, { __webpack_nonce__: nonce });
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={variables}
      colorSchemeManager={colorSchemes}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queries}>
        <Suspense fallback={null}>
          <RouterProvider router={router} />
        </Suspense>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
