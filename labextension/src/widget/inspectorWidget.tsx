/**
 * `session.inspect()`: the inspector as one module for anywidget.
 *
 * It needs ipywidgets and anywidget in the page, but not our labextension.
 */
import { useEffect, useRef, useState } from 'react';
import type { SessionComparison } from '../protocol/generated';
import { ComparisonQuestion } from '../state/inspector/comparisonQuestion';
import {
  NOWHERE,
  type ComparedSide,
  type IComparedView,
  type IInspectorPlace
} from '../state/inspector/source';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import type { InspectorWidgetModel } from './anywidgetModel';
import { keepPlainKeys, leaveByEscape } from './cellKeys';
import { PLAIN_TEXT_HOST, WORDS } from './hostParts';
import { CommSource } from './inspectorSource';
import { partsNamed, useHiddenParts, useKernelPlace } from './kernelPlace';
import { INSPECTOR_SELECTOR } from './stylesheetOrder';
import { widgetModule } from './widgetModule';

/** The sources of a cell: its session's, and that of the session beside it, where there is one. */
type CellSources = Readonly<Record<ComparedSide, CommSource>>;

export default widgetModule({
  sheetSelector: INSPECTOR_SELECTOR,
  savedClass: 'plm-inspect',
  host: PLAIN_TEXT_HOST,
  createSource: createSources,
  draw: (model, sources) => <InspectedCell model={model} sources={sources} />
});

function createSources(
  model: InspectorWidgetModel
): CellSources & { dispose(): void } {
  const sentences = {
    busy: WORDS.__('The kernel is busy; it answers when its cell is done.'),
    ended: WORDS.__(
      'The kernel has ended, so it cannot answer; run the cell again.'
    )
  };
  const first = new CommSource(model, sentences, model.get('own'));
  const second = new CommSource(model, sentences, false, 'second');
  return {
    first,
    second,
    dispose: () => {
      first.dispose();
      second.dispose();
    }
  };
}

function InspectedCell({
  model,
  sources
}: {
  model: InspectorWidgetModel;
  sources: CellSources;
}) {
  const [place, setPlace] = useKernelPlace(model);
  const hiddenParts = useHiddenParts(model);
  const [openedPrice] = useState(() => model.get('price'));
  const [parts] = useState(() => partsNamed(model.get('views')));
  const { beside: besideName = '' } = place;
  const side = place.side ?? 'first';
  const [hasOpenedSide, setOpenedSide] = useState(false);
  const { comparison, error } = useComparison(
    besideName === '' ? null : sources.first,
    place.price ?? null
  );
  const viewsRef = useRef<HTMLDivElement>(null);
  useEffect(
    () =>
      viewsRef.current === null ? undefined : keepPlainKeys(viewsRef.current),
    []
  );
  const showSide = (shownSide: ComparedSide, newPlace: IInspectorPlace) => {
    setPlace({
      ...newPlace,
      beside: besideName === '' ? undefined : besideName,
      side: shownSide === 'second' ? shownSide : undefined
    });
  };
  const compared: IComparedView | null =
    comparison === null
      ? null
      : {
          comparison,
          besideName,
          side,
          takesFocus: hasOpenedSide,
          open: (openedSide, openedPlace) => {
            setOpenedSide(true);
            showSide(openedSide, { ...NOWHERE, ...openedPlace });
          }
        };
  return (
    <div className="plm-InspectedCell" ref={viewsRef} onKeyDown={leaveByEscape}>
      <Inspector
        key={side}
        source={sources[side]}
        place={place}
        onPlace={nextPlace => {
          showSide(side, nextPlace);
        }}
        openedPrice={openedPrice}
        parts={parts}
        hidden={hiddenParts}
        {...(compared === null ? {} : { compared })}
        {...(error === '' ? {} : { remark: error })}
      />
    </div>
  );
}

interface IComparisonState {
  comparison: SessionComparison | null;
  error: string;
}

/** Returns how a cell's session compares with the one beside it; nothing where it is shown alone. */
function useComparison(
  source: CommSource | null,
  price: string | null
): IComparisonState {
  const [state, setState] = useState<IComparisonState>({
    comparison: null,
    error: ''
  });
  useEffect(() => {
    if (source === null) {
      return undefined;
    }
    // The kernel knows which session stands beside.
    const question = new ComparisonQuestion(
      source,
      () => ({ session: '' }),
      ({ comparison, error }) => {
        setState(before => ({
          comparison: comparison ?? before.comparison,
          error
        }));
      }
    );
    if (price === null) {
      question.askAnew();
    } else {
      question.setPrice(price);
    }
    const unsubscribe = source.subscribe(question.askAnew);
    return () => {
      unsubscribe();
      question.dispose();
    };
  }, [source, price]);
  return state;
}
