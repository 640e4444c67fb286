/**
 * A read-only editor with a cell's source, or with the difference between two sources, as JupyterLab draws code.
 *
 * CodeMirror's merge view finds and draws the difference. Control characters and those that turn the direction of
 * text are written out, so that what is accepted is what is seen.
 */
import { EditorState, Text, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { Chunk, getChunks, unifiedMergeView } from '@codemirror/merge';
import {
  jupyterTheme,
  type IEditorLanguageRegistry
} from '@jupyterlab/codemirror';
import { visibleText } from '../../state/text/visibleText';
import type { IWords } from '../../views/host';

export interface IShownSource {
  /** The source before; null where there is no difference to show. */
  before: string | null;
  now: string;
  /** The MIME type of the language. */
  language: string;
}

export interface ISourceEditor {
  /** Returns the source, without the parts of the change that were dropped. */
  source(): string;
  destroy(): void;
}

/** How precisely two sources are compared: beyond it, or after so many milliseconds, the difference gets coarse. */
const DIFF_CONFIG = { scanLimit: 500, timeout: 200 };

/**
 * Draws a source into an element.
 *
 * Parts of a difference get buttons where `onDecided` is given; it is called with the source that is left when the
 * last part was kept or dropped.
 */
export async function showSource(
  parent: HTMLElement,
  { before, now, language }: IShownSource,
  languages: IEditorLanguageRegistry | null,
  words: IWords,
  onDecided?: (source: string) => void
): Promise<ISourceEditor> {
  const shownText = visibleText(now);
  const originalText = before === null ? null : visibleText(before);
  // What is written out cannot be a source, so such a change is decided as a whole.
  const isExact = shownText === now && (originalText ?? '') === (before ?? '');
  const canDecide =
    isExact &&
    onDecided !== undefined &&
    chunkCount(originalText ?? '', shownText) > 1;
  const support = (await languages?.getLanguage(language))?.support;
  const extensions: Extension[] = [
    EditorState.readOnly.of(true),
    EditorView.editable.of(false),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({
      'aria-label':
        originalText === null
          ? words.__('The cell’s source')
          : words.__('The difference in the cell’s source'),
      tabindex: '0'
    }),
    jupyterTheme,
    support ?? []
  ];
  if (originalText !== null) {
    extensions.push(
      unifiedMergeView({
        original: originalText,
        gutter: true,
        diffConfig: DIFF_CONFIG,
        mergeControls:
          canDecide && ((type, action) => partButton(type, action, words))
      })
    );
  }
  if (canDecide) {
    extensions.push(
      EditorView.updateListener.of(({ state, transactions }) => {
        if (transactions.length > 0 && getChunks(state)?.chunks.length === 0) {
          onDecided(state.doc.toString());
        }
      })
    );
  }
  const view = new EditorView({
    parent,
    state: EditorState.create({ doc: shownText, extensions })
  });
  // A long source scrolls in its place; all of it can be read.
  const firstChunk = getChunks(view.state)?.chunks[0];
  if (firstChunk !== undefined) {
    view.dispatch({
      effects: EditorView.scrollIntoView(firstChunk.fromB, { y: 'nearest' })
    });
  }
  return {
    source: () => (isExact ? view.state.doc.toString() : now),
    destroy: () => {
      view.destroy();
    }
  };
}

/** Returns of how many parts a difference consists; one is decided as a whole. */
function chunkCount(before: string, now: string): number {
  const text = (source: string) => Text.of(source.split('\n'));
  return Chunk.build(text(before), text(now), DIFF_CONFIG).length;
}

/** Returns the button that keeps or drops one part of a difference. */
function partButton(
  type: 'accept' | 'reject',
  action: (event: MouseEvent) => void,
  words: IWords
): HTMLElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'plm-Button plm-Button-small';
  button.textContent = type === 'accept' ? words.__('Keep') : words.__('Drop');
  button.title =
    type === 'accept'
      ? words.__('Accept this part of the change')
      : words.__('Reject this part of the change');
  button.addEventListener('mousedown', event => {
    event.preventDefault();
  });
  // Clicks come from the pointer and from the keyboard.
  button.addEventListener('click', action);
  return button;
}
