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
  private _drawn: readonly unknown[] = [];

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
    const drawn: unknown[] = [review, ...Object.values<unknown>({ ...state })];
    if (drawn.every((value, index) => value === this._drawn[index])) {
      return;
    }
    this._drawn = drawn;
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
  drawMark(words: string): void {
    if (this._drawn[0] === words) {
      return;
    }
    this._drawn = [words];
    this.addClass('plm-ChangeMark');
    this._draw(<p>{words}</p>);
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
  private _shown: IShownSource | null = null;
  private _isEndSeen = false;
  private _observer: IntersectionObserver | null = null;

  constructor(
    private readonly _languages: IEditorLanguageRegistry | null,
    private readonly _host: IHost,
    /** Called when the end of the source comes into view. */
    private readonly _onSeen: () => void,
    /** Called with the source that is left when each part of a difference was kept or dropped. */
    private readonly _onDecided?: (source: string) => void
  ) {
    super();
    this.addClass('plm-Review');
    this.addClass('plm-CellDiff');
  }

  /** The source with what was decided of its parts. */
  get source(): string | null {
    return this._editor?.source() ?? null;
  }

  /** Whether the end of the source was on the screen: nothing is accepted that nobody could have read. */
  get isEndSeen(): boolean {
    return this._isEndSeen;
  }

  /** Scrolls to the end of the source, which moves while lines that come into view are measured. */
  showEnd(frames = MAX_FRAMES): void {
    this.node.lastElementChild?.scrollIntoView({ block: 'nearest' });
    if (!this._isEndSeen && !this.isDisposed && frames > 0) {
      requestAnimationFrame(() => {
        this.showEnd(frames - 1);
      });
    }
  }

  /** Shows a source, unless it is shown already. */
  async showSource(shown: IShownSource): Promise<void> {
    const { _shown: before } = this;
    if (
      before?.before === shown.before &&
      before.now === shown.now &&
      before.language === shown.language
    ) {
      return;
    }
    this._shown = shown;
    const { showSource } = await import('./sourceEditor');
    const place = document.createElement('div');
    const editor = await showSource(
      place,
      shown,
      this._languages,
      this._host.words,
      this._onDecided
    );
    if (this.isDisposed || this._shown !== shown) {
      editor.destroy();
      return;
    }
    this._editor?.destroy();
    this._editor = editor;
    const end = document.createElement('span');
    end.className = 'plm-TextEnd';
    this.node.replaceChildren(place, end);
    this._isEndSeen = false;
    this._observer?.disconnect();
    this._observer = new IntersectionObserver(entries => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        this._observer?.disconnect();
        this._isEndSeen = true;
        this._onSeen();
      }
    });
    this._observer.observe(end);
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
