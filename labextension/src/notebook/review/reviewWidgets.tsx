/** The widgets of a review, which lie in the layouts of the cells that they are about. */
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { ReactElement } from 'react';
import { flushSync } from 'react-dom';
import { createRoot, type Root } from 'react-dom/client';
import type { ICellReview } from '../../state/review/cellReview';
import type { ReviewNumbers } from '../../state/review/reviewNumbers';
import {
  ChangeBar,
  type IChangeBarActions,
  type IChangeBarState
} from '../../views/review/changeBar';
import { HostProvider, type IHost } from '../../views/host';
import { ButtonKeysWidget } from '../rendering/buttonKeysWidget';
import type { IShownSource, ISourceEditor } from './sourceEditor';

/** A bar above a cell, or in a ghost. */
export class ChangeBarWidget extends ButtonKeysWidget {
  private readonly _root: Root;
  private _drawnValues: readonly unknown[] = [];

  constructor(
    private readonly _host: IHost,
    private readonly _numbers: ReviewNumbers
  ) {
    super();
    this.addClass('plm-Review');
    this._root = createRoot(this.node);
  }

  /** Draws the bar at once, so that it can get the focus; not again where review and state are as they were. */
  draw(
    review: ICellReview,
    state: IChangeBarState,
    actions: IChangeBarActions
  ): void {
    const values: unknown[] = [review, ...Object.values<unknown>({ ...state })];
    if (values.every((value, index) => value === this._drawnValues[index])) {
      return;
    }
    this._drawnValues = values;
    this._draw(
      <ChangeBar
        review={review}
        numbers={this._numbers}
        state={state}
        actions={actions}
      />
    );
  }

  /** Draws a sentence in the place of a bar. */
  drawMark(sentence: string): void {
    if (this._drawnValues[0] === sentence) {
      return;
    }
    this._drawnValues = [sentence];
    this.addClass('plm-ChangeMark');
    this._draw(<p>{sentence}</p>);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._root.unmount();
    }
    super.dispose();
  }

  private _draw(content: ReactElement): void {
    flushSync(() => {
      this._root.render(
        <HostProvider value={this._host}>{content}</HostProvider>
      );
    });
  }
}

/** For how many frames the end of a source is followed. */
const MAX_FRAMES = 60;

/** A difference in the place of a cell's editor, or the source of a ghost. */
export class SourceWidget extends ButtonKeysWidget {
  private _editor: ISourceEditor | null = null;
  private _shownSource: IShownSource | null = null;
  private _isEndSeen = false;
  private _observer: IntersectionObserver | null = null;

  constructor(
    private readonly _languages: IEditorLanguageRegistry | null,
    private readonly _host: IHost,
    /** Called when the end of the source comes into view. */
    private readonly _onEndSeen: () => void,
    /** Called with the source that is left when each part of a difference was kept or dropped. */
    private readonly _onDecided?: (source: string) => void
  ) {
    super();
    this.addClass('plm-Review');
    this.addClass('plm-CellDiff');
  }

  /** The source, without the parts of the change that were dropped; null until it is shown. */
  get source(): string | null {
    return this._editor?.source() ?? null;
  }

  /** Whether the end of the source was on the screen: nothing is accepted that nobody could have read. */
  get isEndSeen(): boolean {
    return this._isEndSeen;
  }

  /** Scrolls to the end of the source, which moves while lines that come into view are measured. */
  showEnd(framesLeft = MAX_FRAMES): void {
    this.node.lastElementChild?.scrollIntoView({ block: 'nearest' });
    if (!this._isEndSeen && !this.isDisposed && framesLeft > 0) {
      requestAnimationFrame(() => {
        this.showEnd(framesLeft - 1);
      });
    }
  }

  /** Shows a source, unless it is shown already. */
  async showSource(newSource: IShownSource): Promise<void> {
    const { _shownSource: shownBefore } = this;
    if (
      shownBefore?.before === newSource.before &&
      shownBefore.now === newSource.now &&
      shownBefore.language === newSource.language
    ) {
      return;
    }
    this._shownSource = newSource;
    const { showSource } = await import('./sourceEditor');
    const editorContainer = document.createElement('div');
    const editor = await showSource(
      editorContainer,
      newSource,
      this._languages,
      this._host.words,
      this._onDecided
    );
    if (this.isDisposed || this._shownSource !== newSource) {
      editor.destroy();
      return;
    }
    this._editor?.destroy();
    this._editor = editor;
    const endMark = document.createElement('span');
    endMark.className = 'plm-TextEnd';
    this.node.replaceChildren(editorContainer, endMark);
    this._isEndSeen = false;
    this._observer?.disconnect();
    this._observer = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        this._observer?.disconnect();
        this._isEndSeen = true;
        this._onEndSeen();
      }
    });
    this._observer.observe(endMark);
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this._observer?.disconnect();
      this._editor?.destroy();
      this._editor = null;
    }
    super.dispose();
  }
}
