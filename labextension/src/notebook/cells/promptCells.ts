/**
 * Colours cells that begin with `%%agent` as Markdown, with their first line as magic and the names behind an
 * at sign marked.
 *
 * Only the editor's colours change. The cell stays a code cell of the kernel's language, and neither its
 * text, its undo history nor the saved notebook is touched.
 */
import { Language, type LanguageSupport } from '@codemirror/language';
import { Compartment, Prec, type Extension } from '@codemirror/state';
import {
  Decoration,
  MatchDecorator,
  ViewPlugin,
  type DecorationSet,
  type EditorView,
  type PluginValue,
  type ViewUpdate
} from '@codemirror/view';
import {
  EditorExtensionRegistry,
  type IEditorExtensionRegistry,
  type IEditorLanguageRegistry
} from '@jupyterlab/codemirror';
import { tags } from '@lezer/highlight';
import type { MarkdownConfig } from '@lezer/markdown';

/** The Markdown of JupyterLab's Markdown cells. */
const MARKDOWN_MIME_TYPE = 'text/x-ipythongfm';

const MAGIC = '%%agent';

/** The beginning of a cell for the agent; the kernel skips empty lines before a magic. */
const PROMPT_PATTERN = /^(?:[ \t]*\n)*%%agent(?=\s|$)/;

/** Matches what the kernel may read as a mention: a cell, an output, an error, a file, or a variable with its items. */
const MENTION_PATTERN =
  /(?<![\p{L}\p{N}_`@])@(?:(?:cell|out)[ \t]+\d+|error[ \t]+\d+|[^\s`,;:!?"'()[\]{}<>@]*[^\s`,.;:!?"'()[\]{}<>@](?:\[(?:'[^'\n]{1,60}'|"[^"\n]{1,60}"|-?\d{1,9})\](?:\.[\p{L}_][\p{L}\p{N}_]*)*)*)/gu;

/** Adds the colours to every editor of a code cell that is made from now on. */
export function colourPromptCells(
  editors: IEditorExtensionRegistry,
  languages: IEditorLanguageRegistry
): void {
  let coloursPromise: Promise<Extension> | null = null;
  const loadColours = () => (coloursPromise ??= loadPromptColours(languages));
  editors.addExtension({
    name: 'jupyter-palimpsest:prompt-cells',
    factory: ({ model }) => {
      if (!('type' in model && model.type === 'code')) {
        return null;
      }
      const compartment = new Compartment();
      return EditorExtensionRegistry.createImmutableExtension([
        Prec.highest(compartment.of([])),
        ViewPlugin.define(
          view => new PromptWatcher(view, compartment, loadColours)
        )
      ]);
    }
  });
}

/** Switches the colours of one editor with its first line. */
class PromptWatcher implements PluginValue {
  private _isPrompt = false;

  constructor(
    private readonly _view: EditorView,
    private readonly _compartment: Compartment,
    private readonly _loadColours: () => Promise<Extension>
  ) {
    this._update();
  }

  update({ docChanged }: ViewUpdate): void {
    if (docChanged) {
      this._update();
    }
  }

  destroy(): void {
    this._isPrompt = false;
  }

  private _update(): void {
    const { doc } = this._view.state;
    const isPrompt = PROMPT_PATTERN.test(doc.sliceString(0, MAX_HEAD_CHARS));
    if (isPrompt === this._isPrompt) {
      return;
    }
    this._isPrompt = isPrompt;
    // An editor takes no other change while it is being updated.
    void (isPrompt ? this._loadColours() : Promise.resolve([])).then(
      colours => {
        if (this._isPrompt === isPrompt) {
          this._view.dispatch({
            effects: this._compartment.reconfigure(colours)
          });
        }
      }
    );
  }
}

/** Characters at the beginning of a cell that are looked at after each change. */
const MAX_HEAD_CHARS = 200;

async function loadPromptColours(
  languages: IEditorLanguageRegistry
): Promise<Extension> {
  const markdown = await languages.getLanguage(MARKDOWN_MIME_TYPE);
  const support = markdown?.support;
  return [
    support === undefined ? [] : promptLanguage(support),
    MENTION_HIGHLIGHTER
  ];
}

/** Returns Markdown in which the line of the magic is a block of its own. */
function promptLanguage({ language }: LanguageSupport): Extension {
  const parser = language.parser as typeof language.parser & {
    configure?: (spec: MarkdownConfig) => typeof language.parser;
  };
  return new Language(
    language.data,
    parser.configure?.(MAGIC_LINE) ?? parser,
    [],
    'markdown'
  );
}

const MAGIC_LINE: MarkdownConfig = {
  defineNodes: [
    { name: 'AgentMagic', block: true },
    { name: 'AgentMagicName', style: tags.keyword }
  ],
  parseBlock: [
    {
      name: 'AgentMagic',
      before: 'IndentedCode',
      parse: (block, { text }) => {
        if (!PROMPT_PATTERN.test(text)) {
          return false;
        }
        const start = block.lineStart;
        const name = block.elt('AgentMagicName', start, start + MAGIC.length);
        block.addElement(
          block.elt('AgentMagic', start, start + text.length, [name])
        );
        block.nextLine();
        return true;
      }
    }
  ]
};

const MENTION_DECORATOR = new MatchDecorator({
  regexp: MENTION_PATTERN,
  decoration: Decoration.mark({ class: 'plm-CellMention' })
});

const MENTION_HIGHLIGHTER = ViewPlugin.define(
  view => {
    let decorations: DecorationSet = MENTION_DECORATOR.createDeco(view);
    return {
      get decorations() {
        return decorations;
      },
      update(update: ViewUpdate) {
        decorations = MENTION_DECORATOR.updateDeco(update, decorations);
      }
    };
  },
  { decorations: ({ decorations }) => decorations }
);
