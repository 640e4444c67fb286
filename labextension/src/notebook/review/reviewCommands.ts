/** The reviews of the page's notebooks, and the commands that go through them. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { NotebookReview } from './notebookReview';

export const REVIEW_COMMANDS = {
  show: 'jupyter-palimpsest:show-change',
  next: 'jupyter-palimpsest:next-change',
  previous: 'jupyter-palimpsest:previous-change',
  accept: 'jupyter-palimpsest:accept-change',
  reject: 'jupyter-palimpsest:reject-change',
  acceptAll: 'jupyter-palimpsest:accept-all-changes'
} as const;

/** The review of each open notebook. */
export class NotebookReviews {
  private readonly _reviews = new WeakMap<NotebookPanel, NotebookReview>();

  /** Returns the review of a notebook; null where it has none. */
  of(panel: NotebookPanel | null | undefined): NotebookReview | null {
    return (panel && this._reviews.get(panel)) ?? null;
  }

  /** Records the review of a notebook; returns a function that ends it. */
  add(panel: NotebookPanel, review: NotebookReview): () => void {
    this._reviews.set(panel, review);
    return () => {
      this._reviews.delete(panel);
      review.dispose();
    };
  }
}

/** Adds the commands for the notebook in front, also to the palette. */
export function addReviewCommands(
  { commands, shell }: JupyterFrontEnd,
  reviews: NotebookReviews,
  tracker: INotebookTracker,
  palette: ICommandPalette | null,
  words: TranslationBundle
): void {
  const frontReview = () => reviews.of(tracker.currentWidget);
  const addCommand = (
    command: string,
    label: string,
    caption: string,
    execute: (review: NotebookReview) => void
  ) => {
    commands.addCommand(command, {
      describedBy: { args: { type: 'object', properties: {} } },
      label,
      caption,
      isEnabled: () => frontReview()?.hasReviews === true,
      execute: () => {
        const { currentWidget } = tracker;
        const review = frontReview();
        if (review !== null && currentWidget !== null) {
          shell.activateById(currentWidget.id);
          execute(review);
        }
      }
    });
    palette?.addItem({ command, category: words.__('Agent') });
  };
  commands.addCommand(REVIEW_COMMANDS.show, {
    describedBy: {
      args: {
        type: 'object',
        properties: {
          key: { type: 'string', description: 'The key of the change' }
        }
      }
    },
    label: words.__('Show a Change by the Agent'),
    execute: ({ key }) => {
      frontReview()?.show({ key: typeof key === 'string' ? key : '' });
    }
  });
  addCommand(
    REVIEW_COMMANDS.next,
    words.__('Next Change by the Agent'),
    words.__('Go to the next cell that the agent changed or wants to change'),
    review => {
      review.step(1);
    }
  );
  addCommand(
    REVIEW_COMMANDS.previous,
    words.__('Previous Change by the Agent'),
    words.__('Go to the cell before that the agent changed or wants to change'),
    review => {
      review.step(-1);
    }
  );
  addCommand(
    REVIEW_COMMANDS.accept,
    words.__('Accept the Change of This Cell'),
    words.__('Keep what the agent changed, or let it make the change'),
    review => {
      review.acceptCurrent();
    }
  );
  addCommand(
    REVIEW_COMMANDS.reject,
    words.__('Reject the Change of This Cell…'),
    words.__('Take back what the agent changed, and say why'),
    review => {
      review.rejectCurrent();
    }
  );
  addCommand(
    REVIEW_COMMANDS.acceptAll,
    words.__('Accept All Changes by the Agent'),
    words.__('Keep all that the agent changed in this notebook'),
    review => {
      review.acceptAll();
    }
  );
}
