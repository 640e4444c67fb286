/** The user's context edits of a part, and the buttons to change them. */
import { useState } from 'react';
import type { Decision } from '../../protocol/generated';
import {
  effectiveDecisions,
  type ContextEditAction
} from '../../state/session/contextEdits';
import { useContextEditor } from '../actions/contextEdits';
import { SmallButton } from '../controls/buttons';
import { useHost, type IWords } from '../host';
import { InspectButton } from './inspectButton';
import { decisionText } from './reductionNote';

interface IContextEditProps {
  /** The id of the part or message. */
  targetId: string;
  decisions: readonly Decision[];
}

/** Draws the context edit in effect for a part, and the possible changes. */
export function ContextEditNote({ targetId, decisions }: IContextEditProps) {
  const { words } = useHost();
  const editor = useContextEditor();
  const {
    edit,
    decision,
    isByRule: byRule,
    editedId,
    reduction
  } = effectiveDecisions(decisions);
  const inspectButton = <InspectButton target={{ item: targetId }} />;
  if (edit !== null || byRule) {
    const undoEdit = editToUndo(edit, words);
    return (
      <p
        className={`plm-ContextEdit${edit === 'pin' ? '' : ' plm-Reduced'}`}
        data-edit={edit ?? 'rule'}
      >
        <span>{decision === null ? '' : decisionText(decision, words)}</span>
        {undoEdit !== null && (
          <ContextEditButtons
            targetId={editedId ?? targetId}
            offeredEdits={[undoEdit]}
          />
        )}
        {inspectButton}
      </p>
    );
  }
  if (editor === null) {
    return null;
  }
  return (
    <p className="plm-ContextEdit">
      <ContextEditButtons
        targetId={targetId}
        offeredEdits={[
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
      {reduction !== null && inspectButton}
    </p>
  );
}

/** Returns the edit that takes the one in effect back; null where a rule reduced the part, not a person. */
function editToUndo(
  edit: ReturnType<typeof effectiveDecisions>['edit'],
  words: IWords
): OfferedEdit | null {
  switch (edit) {
    case 'pin':
      return ['unpin', words.__('Unpin'), ''];
    case 'drop':
      return ['restore', words.__('Restore'), ''];
    case null:
      return null;
  }
}

/** Draws the context edit in effect for text; changing it is left to the magic. */
export function ContextEditState({ targetId, decisions }: IContextEditProps) {
  const { edit, isByRule: byRule } = effectiveDecisions(decisions);
  return edit === null && !byRule ? null : (
    <ContextEditNote targetId={targetId} decisions={decisions} />
  );
}

type OfferedEdit = readonly [
  action: ContextEditAction,
  name: string,
  title: string
];

/** Draws a button for each edit, and the error of the last one. */
export function ContextEditButtons(props: {
  targetId: string;
  offeredEdits: readonly OfferedEdit[];
}) {
  const { targetId, offeredEdits } = props;
  const editor = useContextEditor();
  const [isWaiting, setWaiting] = useState(false);
  const [failure, setFailure] = useState('');
  if (editor === null) {
    return null;
  }
  const onChoose = async (action: ContextEditAction) => {
    setWaiting(true);
    const problem = await editor
      .edit(action, targetId)
      .catch((error: unknown) => String(error));
    setFailure(problem);
    setWaiting(false);
  };
  return (
    <span className="plm-ContextEdit-buttons">
      {offeredEdits.map(([action, name, title]) => (
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
