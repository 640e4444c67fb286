/** Connects each notebook to its kernel's link: only a renderer made for a notebook knows both. */
import { Notification } from '@jupyterlab/apputils';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import {
  NotebookActions,
  type INotebookCellExecutor,
  type INotebookModel,
  type NotebookPanel
} from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { DisposableDelegate, type IDisposable } from '@lumino/disposable';
import type { LinkRegistry } from '../kernel/linkRegistry';
import type { IInspectorTarget } from '../views/actions/inspector';
import { addAnnouncer } from './announcer';
import { cellEdits } from './cells/cellEdits';
import { dropRewrittenOrigins } from './cells/cellOrigins';
import { cellReader } from './cells/cellReader';
import { runRequestedCells } from './cells/cellRuns';
import { changeRequestedCells } from './cells/changedCells';
import { addErrorButtons } from './cells/errorButtons';
import { addOriginSigns } from './cells/originSigns';
import { runCellsFromPage } from './cells/pageRuns';
import { completeOutputs } from './savedOutputs/outputCompletion';
import { labHost } from './rendering/labHost';
import { addQuestionShortcuts } from './questionShortcuts';
import { expectPrompts } from './expectedPrompts';
import { reportRenames } from './notebookRename';
import { announceRuns } from './runAnnouncements';
import { segmentFactory } from './rendering/segmentRenderer';
import { SlotLayout } from './rendering/slotLayout';
import { cellReviewActions } from './rendering/linkActions';
import { NotebookReview } from './review/notebookReview';
import type { NotebookReviews } from './review/reviewCommands';
import { followQuestions, type WaitingQuestions } from './waitingQuestions';

type Context = DocumentRegistry.IContext<INotebookModel>;

/** Gives every notebook its own segment renderer, and watches its kernel while it is open. */
export class NotebookExtension implements DocumentRegistry.IWidgetExtension<
  NotebookPanel,
  INotebookModel
> {
  constructor(
    private readonly _links: LinkRegistry,
    private readonly _words: TranslationBundle,
    private readonly _languages: IEditorLanguageRegistry | null,
    /** Shows the panel, where an opened session is displayed. */
    private readonly _showPanel: () => void,
    /** Opens the inspector. */
    private readonly _inspect: (target: IInspectorTarget) => void,
    private readonly _waitingQuestions: WaitingQuestions,
    private readonly _reviews: NotebookReviews,
    /** How cells run here; another extension may have replaced it. */
    private readonly _executor: INotebookCellExecutor | null
  ) {}

  createNew(panel: NotebookPanel, context: Context): IDisposable {
    const link = this._links.get(context.sessionContext);
    const { rendermime } = panel.content;
    const inspect = (target: IInspectorTarget) => {
      this._inspect({ ...target, notebook: context.path });
    };
    rendermime.addFactory(
      segmentFactory(
        rendermime,
        this._words,
        this._languages,
        link,
        {
          showPanel: this._showPanel,
          inspect
        },
        node => ({
          ...cellEdits(
            { notebook: () => panel, indexAbove: () => indexOf(panel, node) },
            NotebookActions.runCells,
            this._words
          ),
          ownCell: () => cellAt(panel, node)?.model.id ?? ''
        })
      )
    );
    const withdrawCells = link.tellCells(cellReader(panel));
    const unwatch = link.watch();
    const host = labHost(
      rendermime,
      new SlotLayout(),
      this._words,
      this._languages
    );
    const review = new NotebookReview(
      panel,
      link,
      cellReviewActions({
        link,
        get session() {
          return link.store.getSnapshot().current ?? undefined;
        },
        report: () => undefined // the bar shows what failed
      }),
      NotebookActions.runCells,
      host,
      this._languages
    );
    const disposers = [
      this._reviews.add(panel, review),
      addQuestionShortcuts(panel, link),
      addErrorButtons(panel, link, this._words, this._showPanel),
      reportRenames(panel, link),
      announceRuns(panel, link),
      expectPrompts(panel, link),
      changeRequestedCells(panel, link),
      runRequestedCells(panel, link, runCellsFromPage(this._executor)),
      dropRewrittenOrigins(panel),
      addOriginSigns(panel, link, this._words, {
        showPanel: this._showPanel,
        inspect,
        report: sentence => {
          Notification.warning(sentence, { autoClose: 8000 });
        }
      }),
      completeOutputs(panel, link, this._words),
      addAnnouncer(panel, link, host),
      followQuestions(panel, link, this._waitingQuestions),
      withdrawCells,
      unwatch
    ];
    return new DisposableDelegate(() => {
      disposers.forEach(end => {
        end();
      });
    });
  }
}

function cellAt({ content }: NotebookPanel, node: HTMLElement) {
  return content.widgets.find(cell => cell.node.contains(node));
}

/** Returns the index of the cell that holds an element. */
function indexOf(panel: NotebookPanel, node: HTMLElement): number {
  const { content } = panel;
  const cell = cellAt(panel, node);
  return cell === undefined
    ? content.activeCellIndex
    : content.widgets.indexOf(cell);
}
