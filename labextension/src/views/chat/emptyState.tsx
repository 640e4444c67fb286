/** The panel's message when there is no session to show, with a remedy. */
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { LOAD_COMMAND, useKernelActions } from '../actions/notebook';
import type { PanelStatus } from './panelState';

interface IEmptyStateProps {
  status: PanelStatus;
  /** The file name of the active notebook. */
  notebook: string;
}

/** Draws one sentence and, if there is a remedy, one button. */
export function EmptyState({ status, notebook }: IEmptyStateProps) {
  const { words } = useHost();
  const kernel = useKernelActions();
  switch (status) {
    case 'no-notebook':
      return (
        <NoticeText>
          {words.__('Open a notebook, and its agent is here beside it.')}
        </NoticeText>
      );
    case 'no-kernel':
      return (
        <NoticeText
          action={words.__('Choose a kernel…')}
          onAction={() => {
            kernel.chooseKernel();
          }}
        >
          {words.__(
            '%1 has no kernel. Choose one, and its agent is here.',
            notebook
          )}
        </NoticeText>
      );
    case 'connecting':
      return <NoticeText>{words.__('Asking the kernel…')}</NoticeText>;
    case 'starting':
      return <NoticeText>{words.__('The kernel starts…')}</NoticeText>;
    case 'loading':
      return (
        <NoticeText>{words.__('Loading Palimpsest in the kernel…')}</NoticeText>
      );
    case 'absent':
      return (
        <NoticeText
          action={words.__('Load it')}
          onAction={() => {
            kernel.load();
          }}
        >
          {words.__(
            'Palimpsest is not loaded in the kernel of %1. Loading it runs %2 there; nothing is sent anywhere.',
            notebook,
            LOAD_COMMAND
          )}
        </NoticeText>
      );
    case 'dead':
      return (
        <NoticeText
          action={words.__('Restart the kernel')}
          onAction={() => {
            kernel.restart();
          }}
        >
          {words.__(
            'The kernel of %1 has died. The session is kept; restart the kernel to go on with it.',
            notebook
          )}
        </NoticeText>
      );
    case 'ready':
      return null;
  }
}

/** Explains the panel and how to begin. */
export function GettingStarted() {
  const { words } = useHost();
  return (
    <div className="plm-GettingStarted">
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

interface INoticeTextProps {
  children: string;
  action?: string;
  onAction?: () => void;
}

function NoticeText({ children, action, onAction }: INoticeTextProps) {
  return (
    <div className="plm-Panel-notice" role="status">
      <p>{children}</p>
      {action !== undefined && (
        <OutlinedButton data-main onClick={onAction}>
          {action}
        </OutlinedButton>
      )}
    </div>
  );
}
