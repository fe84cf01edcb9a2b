/** How YAML looks in CodeMirror: the page's colours, and styles that its policy allows. */
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import { EditorView } from "@uiw/react-codemirror";

const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? "";

const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--ansi-cyan)" },
    { tag: [tags.string, tags.content], color: "var(--ansi-green)" },
    { tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--ansi-magenta)" },
    { tag: tags.comment, color: "var(--text-3)", fontStyle: "italic" },
    { tag: [tags.punctuation, tags.separator, tags.squareBracket, tags.brace], color: "var(--text-2)" },
  ]),
);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12px", backgroundColor: "var(--sunken)", color: "var(--text)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "18px" },
  ".cm-gutters": { backgroundColor: "var(--sunken)", color: "var(--text-3)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "transparent" },
  ".cm-selected-task": { backgroundColor: "var(--selected)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--mark) !important" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line-strong)" },
  ".cm-panels": { backgroundColor: "var(--surface)", color: "var(--text)" },
});

/** What every YAML view of the page has in common. */
export const yamlLook = [yaml(), colours, look, EditorView.cspNonce.of(nonce)];
