/** The content of an inspector's tab: the views, and what is missing for them. */
import { useMemo, useSyncExternalStore } from 'react';
import type { IComparedView } from '../state/inspector/source';
import { fileNameOf } from '../state/text/filePaths';
import { useHost, type IWords } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import type { InspectedState } from './kernels/inspectedKernel';
import type { IInspectorState, InspectorModel } from './inspectorModel';
import {
  besideWord,
  type IBesideTarget,
  type IInspectorArguments
} from './targets';
import { OutlinedButton } from '../views/controls/buttons';

interface IInspectorTabProps {
  model: InspectorModel;
  /** Name of the notebook or file. */
  name: string;
  /** Asks which session to compare it with; null where the question was dismissed. */
  chooseCompared: (
    target: IInspectorArguments
  ) => Promise<IBesideTarget | null>;
}

/** Draws the inspector, and above it a strip with what its kernel lacks. */
export function InspectorTab(props: IInspectorTabProps) {
  const { model, name, chooseCompared: chooseBeside } = props;
  const { words } = useHost();
  const state = useSyncExternalStore(model.subscribe, model.getSnapshot);
  const { place, source, beside, side, isSideOpened } = state;
  const fileName = fileNameOf(state.file) || name;
  const hindrance = hindranceOf(state, fileName, words);
  const comparison = beside?.comparison ?? null;
  const besideName = besideWord(model.arguments.beside);
  const compared = useMemo<IComparedView | null>(
    () =>
      comparison === null
        ? null
        : {
            comparison,
            side,
            takesFocus: isSideOpened,
            open: model.openSide,
            ...(besideName === undefined ? {} : { besideName })
          },
    [comparison, besideName, side, isSideOpened, model]
  );
  const chooseOther = () => {
    void chooseBeside(model.arguments).then(target => {
      if (target !== null) {
        model.compareWith(target);
      }
    });
  };
  const showAlone = () => {
    model.compareWith(null);
  };
  // The second session's place says nothing about the first one.
  const shownSource = side === 'first' ? source : (beside?.source ?? null);
  return (
    <div className="plm-InspectorTab">
      {hindrance !== null && (
        <div
          className="plm-InspectorTab-notice"
          role="status"
          data-state={state.kernel}
        >
          <span>{hindrance.sentence}</span>
          {hindrance.remedy !== undefined && (
            <OutlinedButton onClick={model.applyRemedy}>
              {hindrance.remedy}
            </OutlinedButton>
          )}
        </div>
      )}
      {hindrance === null && beside !== null && (
        <BesideNotice
          error={beside.error}
          isKnown={comparison !== null}
          chooseOther={chooseOther}
          showAlone={showAlone}
        />
      )}
      {shownSource !== null && (
        <Inspector
          key={side}
          source={shownSource}
          place={place}
          onPlace={model.setPlace}
          comparing={{
            choose: chooseOther,
            ...(compared === null ? {} : { end: showAlone })
          }}
          {...(compared === null ? {} : { compared })}
        />
      )}
    </div>
  );
}

/** Draws that both sessions are read, or why they cannot be compared; nothing where all is well. */
function BesideNotice(props: {
  error: string;
  isKnown: boolean;
  chooseOther: () => void;
  showAlone: () => void;
}) {
  const { error, isKnown, chooseOther, showAlone } = props;
  const { words } = useHost();
  if (error === '') {
    return isKnown ? null : (
      <div className="plm-InspectorTab-notice" role="status">
        <span>{words.__('The other session is read…')}</span>
      </div>
    );
  }
  return (
    <div
      className="plm-InspectorTab-notice"
      role="status"
      data-state={isKnown ? undefined : 'failed'}
    >
      <span>
        {isKnown
          ? words.__('%1 What is compared was read before.', error)
          : error}
      </span>
      <OutlinedButton onClick={chooseOther}>
        {words.__('Compare with another…')}
      </OutlinedButton>
      {!isKnown && (
        <OutlinedButton onClick={showAlone}>
          {words.__('Dismiss')}
        </OutlinedButton>
      )}
    </div>
  );
}

interface IHindrance {
  sentence: string;
  /** The button's name, where something can be done. */
  remedy?: string;
}

/** Returns what keeps an inspector from its answers; null if nothing does. */
function hindranceOf(
  state: IInspectorState,
  name: string,
  words: IWords
): IHindrance | null {
  if (state.kernel !== 'ready') {
    return kernelHindrance(state, state.kernel, name, words);
  }
  if (state.isLate) {
    return {
      sentence: state.isBusy
        ? words.__(
            'The kernel is busy: the answer comes as soon as it has a moment.'
          )
        : words.__('The kernel reads the session; a large one takes a moment.')
    };
  }
  return state.source === null
    ? {
        sentence: words.__(
          '%1 has no session of the agent yet: ask it something first.',
          name
        )
      }
    : null;
}

function kernelHindrance(
  { failure, source }: IInspectorState,
  kernel: Exclude<InspectedState, 'ready'>,
  name: string,
  words: IWords
): IHindrance {
  switch (kernel) {
    case 'no-notebook':
      return name === ''
        ? {
            sentence: words.__(
              'Open a notebook with a session of the agent, then inspect its context.'
            )
          }
        : {
            sentence: words.__(
              'Open %1: its kernel has the session’s context.',
              name
            ),
            remedy: words.__('Open it')
          };
    case 'starting':
      return { sentence: words.__('A kernel starts for %1…', name) };
    case 'connecting':
      return { sentence: words.__('Connecting to the kernel of %1…', name) };
    case 'loading':
      return {
        sentence: words.__('Loading the agent in the kernel of %1…', name)
      };
    case 'absent':
      return {
        sentence:
          source === null
            ? words.__('The agent is not loaded in the kernel of %1.', name)
            : words.__(
                'The kernel of %1 has restarted: load the agent in it to go on from what is shown.',
                name
              ),
        remedy: words.__('Load it')
      };
    case 'no-kernel':
    case 'dead':
      return source === null
        ? {
            sentence: words.__(
              '%1 has no kernel: start one to see its sessions.',
              name
            ),
            remedy: words.__('Start a kernel')
          }
        : {
            sentence: words.__(
              'The kernel of %1 has ended: start it again to go on from what is shown.',
              name
            ),
            remedy: words.__('Start it again')
          };
    case 'failed':
      return { sentence: failure, remedy: words.__('Try again') };
  }
}
