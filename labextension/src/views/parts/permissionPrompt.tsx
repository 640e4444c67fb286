/** A permission question: what a tool wants to do, and the user's reply by button or key. */
import {
  useId,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode
} from 'react';
import type { Ask } from '../../protocol/generated';
import { visibleText } from '../../state/text/visibleText';
import { useEndsSeen } from '../dom/endSeen';
import { useAnswerActions, type IAnswerActions } from '../actions/answers';
import { ANSWERS, answerOfKey, type Answer } from './answerKeys';
import { LinkButton, OutlinedButton } from '../controls/buttons';
import { Diff } from '../controls/diff';
import { RejectionForm } from '../controls/rejectionForm';
import { useHost, type IWords } from '../host';

/** Questions about the session or the project as a whole, for which a rejection needs no reason. */
const GENERAL_PERMISSIONS: readonly string[] = ['budget', 'doom_loop', 'moved'];

/** Returns the replies that a question offers: no “always” for a limit, no project for a repeated call. */
function offeredReplies(ask: Ask): readonly Answer[] {
  if (ask.always.length === 0) {
    return ['once', 'reject'];
  }
  return ask.permission === 'doom_loop'
    ? ['once', 'always', 'reject']
    : ANSWERS;
}

/** Draws a question; in a read-only view it says where to answer. */
export function PermissionPrompt(props: {
  ask: Ask;
  /** What stands below its title. */
  children?: ReactNode;
  /** Whether the call's input is shown above. */
  isInputAbove?: boolean;
}) {
  const { ask, isInputAbove = false, children } = props;
  const { words } = useHost();
  const actions = useAnswerActions();
  const diff = ask.diff ?? '';
  const inputChange = ask.changed ?? '';
  const warnings = ask.warnings ?? [];
  const title = isInputAbove ? promptTitle(ask, words) : ask.title;
  return (
    <div className="plm-Question" role="group" aria-label={title}>
      <p className="plm-Question-title">{visibleText(title)}</p>
      {children}
      {inputChange !== '' && <Diff text={inputChange} />}
      {diff !== '' && <Diff text={diff} />}
      {warnings.length > 0 && (
        <ul
          className="plm-Question-warnings"
          aria-label={words.__('What could deceive you')}
        >
          {warnings.map(warning => (
            <li key={warning}>{visibleText(warning)}</li>
          ))}
        </ul>
      )}
      {actions === null ? (
        <p className="plm-Muted">
          {words.__('Answer where the cell runs: once, always or reject.')}
        </p>
      ) : (
        <PermissionButtons ask={ask} actions={actions} />
      )}
    </div>
  );
}

/** Returns the question's title; code shown above it is not repeated. */
function promptTitle({ permission, title }: Ask, words: IWords): string {
  switch (permission) {
    case 'python':
      return words.__('Run this in the notebook’s kernel?');
    case 'bash':
      return words.__('Run this command?');
    default:
      return title;
  }
}

function PermissionButtons(props: { ask: Ask; actions: IAnswerActions }) {
  const { ask, actions } = props;
  const { words } = useHost();
  const [reply, setReply] = useState<Answer | null>(null);
  const [isRejecting, setRejecting] = useState(false);

  const elementRef = useRef<HTMLDivElement>(null);
  const [isSeen, showEnd] = useEndsSeen(elementRef);
  const hintId = useId();

  const isAboutAll = GENERAL_PERMISSIONS.includes(ask.permission);
  const canChoose = (answer: Answer) => isSeen || answer === 'reject';
  const choose = (answer: Answer, feedback?: string) => {
    if (answer === 'reject' && feedback === undefined && !isAboutAll) {
      setRejecting(true);
      return;
    }
    setReply(answer);
    const reason = feedback === '' ? undefined : feedback;
    if (answer === 'project') {
      actions.reply(ask.id, 'always', reason, 'project');
    } else {
      actions.reply(ask.id, answer, reason);
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const answer = isRejecting ? null : answerOfKey(event);
    if (
      answer !== null &&
      reply === null &&
      offeredReplies(ask).includes(answer)
    ) {
      event.preventDefault();
      event.stopPropagation();
      if (canChoose(answer)) {
        choose(answer);
      }
    }
  };
  return (
    <div
      ref={elementRef}
      className="plm-Answers"
      onKeyDown={onKeyDown}
      data-ask={ask.id}
    >
      {!isSeen && reply === null && !isRejecting && (
        <p className="plm-Question-closed" id={hintId} role="status">
          {words.__('Scroll to the end to allow it.')}{' '}
          <LinkButton onClick={showEnd}>{words.__('Show the end')}</LinkButton>
        </p>
      )}
      {isRejecting ? (
        <RejectionForm
          label={words.__(
            'What should it do instead? Leave empty to end the turn.'
          )}
          onSend={feedback => {
            setRejecting(false);
            choose('reject', feedback);
          }}
          onBack={() => {
            setRejecting(false);
          }}
        />
      ) : (
        offeredReplies(ask).map(answer => (
          <OutlinedButton
            key={answer}
            data-answer={answer}
            aria-keyshortcuts={keyOf(answer)}
            title={
              answer === 'always' || answer === 'project'
                ? ask.always.join('\n')
                : undefined
            }
            disabled={reply !== null || !canChoose(answer)}
            aria-describedby={canChoose(answer) ? undefined : hintId}
            onClick={() => {
              choose(answer);
            }}
          >
            {isAboutAll
              ? replyNameForAll(ask.permission, answer, words)
              : replyName(answer, words)}
            <kbd aria-hidden="true">{keyOf(answer)}</kbd>
          </OutlinedButton>
        ))
      )}
    </div>
  );
}

function keyOf(answer: Answer): string {
  return String(ANSWERS.indexOf(answer) + 1);
}

function replyNameForAll(
  permission: string,
  answer: Answer,
  words: IWords
): string {
  if (permission === 'moved') {
    return answer === 'reject' ? words.__('Leave it') : words.__('Keep it');
  }
  switch (answer) {
    case 'reject':
      return words.__('Stop');
    case 'always':
      return words.__('Go on, always in this session');
    default:
      return words.__('Go on');
  }
}

function replyName(answer: Answer, words: IWords): string {
  const names: Record<Answer, string> = {
    once: words.__('Allow once'),
    always: words.__('Always in this session'),
    reject: words.__('Reject…'),
    project: words.__('Always in this project')
  };
  return names[answer];
}
