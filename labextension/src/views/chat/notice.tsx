/**
 * What the panel says when there is no session to show, and what to do about it.
 */
import { useHost } from '../host';
import { LOAD, useChat, type Where } from './model';

export interface INoticeProps {
  where: Where;
  /** The notebook in front, by its file's name. */
  notebook: string;
}

/** Draws one sentence and, where one helps, one button. */
export function Notice({ where, notebook }: INoticeProps) {
  const { words } = useHost();
  const chat = useChat();
  switch (where) {
    case 'no-notebook':
      return (
        <Plain>
          {words.__('Open a notebook, and its agent is here beside it.')}
        </Plain>
      );
    case 'no-kernel':
      return (
        <Plain
          action={words.__('Choose a kernel…')}
          onAction={() => {
            chat.chooseKernel();
          }}
        >
          {words.__(
            '%1 has no kernel. Choose one, and its agent is here.',
            notebook
          )}
        </Plain>
      );
    case 'connecting':
      return <Plain>{words.__('Asking the kernel…')}</Plain>;
    case 'starting':
      return <Plain>{words.__('The kernel starts…')}</Plain>;
    case 'loading':
      return <Plain>{words.__('Loading Palimpsest in the kernel…')}</Plain>;
    case 'absent':
      return (
        <Plain
          action={words.__('Load it')}
          onAction={() => {
            chat.load();
          }}
        >
          {words.__(
            'Palimpsest is not loaded in the kernel of %1. Loading it runs %2 there; nothing is sent anywhere.',
            notebook,
            LOAD
          )}
        </Plain>
      );
    case 'dead':
      return (
        <Plain
          action={words.__('Restart the kernel')}
          onAction={() => {
            chat.restart();
          }}
        >
          {words.__(
            'The kernel of %1 has died. The session is kept; restart the kernel to go on with it.',
            notebook
          )}
        </Plain>
      );
    case 'ready':
      return null;
  }
}

/** Says what this is and how to begin. */
export function Begin() {
  const { words } = useHost();
  return (
    <div className="plm-Begin">
      <p>
        {words.__(
          'An agent that works in this notebook’s kernel: it sees your variables, and asks before it changes anything.'
        )}
      </p>
      <p className="plm-Muted">
        {words.__(
          'Write below, or begin a cell with %1. Both go on with the same session.',
          '%%agent'
        )}
      </p>
    </div>
  );
}

interface IPlainProps {
  children: string;
  action?: string;
  onAction?: () => void;
}

function Plain({ children, action, onAction }: IPlainProps) {
  return (
    <div className="plm-Panel-notice" role="status">
      <p>{children}</p>
      {action !== undefined && (
        <button
          type="button"
          className="plm-Button"
          data-main
          onClick={onAction}
        >
          {action}
        </button>
      )}
    </div>
  );
}
