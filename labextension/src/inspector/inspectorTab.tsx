/** The content of an inspector's tab: the views, and what is missing for them. */
import { useSyncExternalStore } from 'react';
import { useHost, type IWords } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import type { InspectedState } from './kernels/inspectedKernel';
import type { IInspectorState, InspectorModel } from './inspectorModel';

interface IInspectorTabProps {
  model: InspectorModel;
  /** Name of the notebook or file. */
  name: string;
  /** Opens a link to another session. */
  openLink: (link: string) => void;
}

/** Draws the inspector, and above it a strip with what its kernel lacks. */
export function InspectorTab({ model, name, openLink }: IInspectorTabProps) {
  const { words } = useHost();
  const state = useSyncExternalStore(model.subscribe, model.getSnapshot);
  const { place, source } = state;
  const fileName = state.file.split('/').at(-1) || name;
  const hindrance = hindranceOf(state, fileName, words);
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
            <button
              type="button"
              className="plm-Button"
              onClick={model.applyRemedy}
            >
              {hindrance.remedy}
            </button>
          )}
        </div>
      )}
      {source !== null && (
        <Inspector
          source={source}
          place={place}
          onPlace={model.setPlace}
          openLink={openLink}
        />
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
