/** The panel's header: session, activity, context usage and cost. */
import { useRef, useState, type ReactNode } from 'react';
import { isBusy } from '../../state/session/status';
import type { TypedAnswer } from '../../protocol/generated';
import type { ITranscript } from '../../state/store/transcript';
import { OutlinedButton } from '../controls/buttons';
import { useHost } from '../host';
import { useTurnActions } from '../actions/turn';
import { BranchView } from '../sessions/branchView';
import { SessionList } from '../sessions/sessionList';
import { sessionTitle } from '../sessions/sessionLabels';
import { SharePage } from '../sessions/sharePage';
import { SessionActivity } from './sessionActivity';
import { ContextWindow } from '../modelContext/contextWindow';

/** The view below the title; null shows the context usage as one line. */
export type HeaderView = Exclude<TypedAnswer['view'], 'inspector' | undefined>;

interface IPanelHeaderProps {
  transcript: ITranscript;
  view: HeaderView | null;
  onView: (view: HeaderView | null) => void;
  /** Signs beside the title. */
  children?: ReactNode;
}

/** Draws the header and, when opened, the list of sessions, how to share this one, or what fills the window. */
export function PanelHeader(props: IPanelHeaderProps) {
  const { transcript, view, onView, children } = props;
  const { Icon, words } = useHost();
  const turn = useTurnActions();
  const isChoosing = view === 'sessions';
  const button = useRef<HTMLButtonElement>(null);
  const { session } = transcript;
  const title = session?.title ?? '';
  const close = () => {
    onView(null);
    button.current?.focus();
  };
  const focusComposer = () => {
    onView(null);
    // After choosing a session the user wants to write in it.
    button.current
      ?.closest('.plm-Panel')
      ?.querySelector<HTMLElement>('.plm-Composer-field')
      ?.focus();
  };
  return (
    <div className="plm-Panel-head">
      <div className="plm-Panel-row">
        <h2 className="plm-Panel-title">
          <button
            type="button"
            ref={button}
            className="plm-Panel-sessions"
            aria-expanded={isChoosing}
            title={words.__('Sessions')}
            onClick={() => {
              onView(isChoosing ? null : 'sessions');
            }}
          >
            <span className="plm-Panel-name" dir="auto">
              {sessionTitle(title, words)}
            </span>
            <span className="plm-Disclosure-caret" aria-hidden="true">
              <Icon name={isChoosing ? 'unfold' : 'fold'} />
            </span>
          </button>
        </h2>
        {children}
        <SessionActivity transcript={transcript} />
        {isBusy(transcript) && (
          <OutlinedButton
            className="plm-Stop"
            onClick={() => {
              turn.stop();
            }}
          >
            <Icon name="stopped" />
            {words.__('Stop')}
          </OutlinedButton>
        )}
      </div>
      {isChoosing ? (
        <SessionList
          currentId={session?.id ?? ''}
          onClose={close}
          onChosen={focusComposer}
        />
      ) : view === 'share' && session !== undefined ? (
        <SharePage
          session={session.id}
          isShared={session.share !== undefined}
          onBack={focusComposer}
          onChanged={ignoreChange}
        />
      ) : (
        <ContextWindow
          transcript={transcript}
          isPinned={view === 'window'}
          onPin={pinned => {
            onView(pinned ? 'window' : null);
          }}
        />
      )}
      {!isChoosing && session?.forked_from !== undefined && (
        <ForkedBranches key={session.id} session={session.id} />
      )}
    </div>
  );
}

/** Does nothing when the share page has changed: the list of sessions is requested when it opens. */
function ignoreChange(): void {
  return undefined;
}

/** Draws a button that shows a fork beside what it was forked from. */
function ForkedBranches({ session }: { session: string }) {
  const { words } = useHost();
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  return (
    <div
      className="plm-Panel-branches"
      onKeyDown={event => {
        if (event.key === 'Escape' && open) {
          event.stopPropagation();
          close();
        }
      }}
    >
      <button
        type="button"
        ref={button}
        className="plm-Link"
        aria-expanded={open}
        onClick={() => {
          setOpen(!open);
        }}
      >
        {words.__('Compare branches')}
      </button>
      {open && <BranchView session={session} onBack={close} />}
    </div>
  );
}
