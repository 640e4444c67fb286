/** The user's context edits of a part, and the buttons to change them. */
import { useState } from 'react';
import type { Decision } from '../../protocol/generated';
import {
  effectiveDecisions,
  type ContextEditAction
} from '../../state/session/contextEdits';
import { useContextEditor } from '../actions/contextEdits';
import { SmallButton } from '../controls/buttons';
import { useHost } from '../host';
import { InspectButton } from './inspectButton';
import { decisionText } from './reductionNote';

interface IContextEditProps {
  /** The id of the part or message. */
  target: string;
  decisions: readonly Decision[];
}

/** Draws the context edit in effect for a part, and the possible changes. */
export function ContextEditNote({ target, decisions }: IContextEditProps) {
  const { words } = useHost();
  const editor = useContextEditor();
  const { edit, decision, byRule, editedId, reduction } =
    effectiveDecisions(decisions);
  const text = decision === null ? '' : decisionText(decision, words);
  if (edit === 'pin') {
    return (
      <p className="plm-ContextEdit" data-edit="pin">
        <span>{text}</span>
        <ContextEditButtons
          target={editedId ?? target}
          offered={[['unpin', words.__('Unpin'), '']]}
        />
        <InspectButton target={{ item: target }} />
      </p>
    );
  }
  if (edit === 'drop') {
    return (
      <p className="plm-ContextEdit plm-Reduced" data-edit="drop">
        <span>{text}</span>
        <ContextEditButtons
          target={editedId ?? target}
          offered={[['restore', words.__('Restore'), '']]}
        />
        <InspectButton target={{ item: target }} />
      </p>
    );
  }
  if (byRule) {
    return (
      <p className="plm-ContextEdit plm-Reduced" data-edit="rule">
        <span>{text}</span>
        <InspectButton target={{ item: target }} />
      </p>
    );
  }
  if (editor === null) {
    return null;
  }
  return (
    <p className="plm-ContextEdit">
      <ContextEditButtons
        target={target}
        offered={[
          [
            'pin',
            words.__('Pin'),
            words.__('Keep it in every request, also after a compaction')
          ],
          [
            'exclude',
            words.__('Exclude'),
            words.__('Take it out of every request; it stays here')
          ],
          ...(reduction?.action === 'clear'
            ? [
                [
                  'restore',
                  words.__('Restore'),
                  words.__('Show the model its output again')
                ] as const
              ]
            : [])
        ]}
      />
      {reduction !== null && <InspectButton target={{ item: target }} />}
    </p>
  );
}

/** Draws the context edit in effect for text; changing it is left to the magic. */
export function ContextEditState({ target, decisions }: IContextEditProps) {
  const { edit, byRule } = effectiveDecisions(decisions);
  return edit === null && !byRule ? null : (
    <ContextEditNote target={target} decisions={decisions} />
  );
}

type OfferedEdit = readonly [
  action: ContextEditAction,
  name: string,
  title: string
];

/** Draws a button for each edit, and the error of the last one. */
export function ContextEditButtons({
  target,
  offered
}: {
  target: string;
  offered: readonly OfferedEdit[];
}) {
  const editor = useContextEditor();
  const [isWaiting, setWaiting] = useState(false);
  const [failure, setFailure] = useState('');
  if (editor === null) {
    return null;
  }
  const onChoose = async (action: ContextEditAction) => {
    setWaiting(true);
    const problem = await editor
      .edit(action, target)
      .catch((error: unknown) => String(error));
    setFailure(problem);
    setWaiting(false);
  };
  return (
    <span className="plm-ContextEdit-buttons">
      {offered.map(([action, name, title]) => (
        <SmallButton
          key={action}
          title={title === '' ? undefined : title}
          disabled={isWaiting}
          onClick={() => {
            void onChoose(action);
          }}
        >
          {name}
        </SmallButton>
      ))}
      {failure !== '' && (
        <span className="plm-ContextEdit-hindered" role="alert">
          {failure}
        </span>
      )}
    </span>
  );
}
