/**
 * `session.report()`: the inspector alone on a page, over data that is inside it.
 *
 * The link after `#` keeps the place, so that a page can be handed on at a request.
 */
import { useMemo } from 'react';
import { createRoot } from 'react-dom/client';
import {
  NOWHERE,
  type IComparedView,
  type IInspectorPlace
} from '../state/inspector/source';
import { HostProvider, type IHost } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import { PLAIN_TEXT_HOST, WORDS } from '../widget/hostParts';
import { applyTheme } from '../widget/theme';
import { useAddressPlace } from './addressPlace';
import { usePrinting } from './printing';
import {
  readBeside,
  readReport,
  type IReportBeside,
  type IReportData
} from './reportData';
import { ReportSource } from './reportSource';

const { copy } = PLAIN_TEXT_HOST;
/** Of a report, a link is the address of the file at a place. */
const REPORT_HOST: IHost = {
  ...PLAIN_TEXT_HOST,
  ...(copy === undefined
    ? {}
    : {
        copy: (link: string) => copy(new URL(`#${link}`, location.href).href)
      })
};

drawReport();

function drawReport(): void {
  const container = document.getElementById('inspector');
  const savedHtml = document.getElementById('saved');
  const packedData: unknown = Reflect.get(globalThis, 'palimpsestReport');
  const data = readReport(packedData);
  if (container === null || data === null) {
    return;
  }
  applyTheme(container);
  container.hidden = false;
  if (savedHtml !== null) {
    savedHtml.hidden = true;
  }
  createRoot(container).render(
    <HostProvider value={REPORT_HOST}>
      <Report
        data={data}
        beside={readBeside(packedData)}
        container={container}
      />
    </HostProvider>
  );
}

const BOTH: IInspectorPlace = { ...NOWHERE, tab: 'compared' };

function Report({
  data,
  beside,
  container
}: {
  data: IReportData;
  beside: IReportBeside | null;
  container: HTMLElement;
}) {
  const isPrinted = usePrinting(container);
  const first = data.view.session;
  const second = beside?.second.view.session ?? null;
  const sources = useMemo(
    () => ({
      first: new ReportSource(data, WORDS),
      second: new ReportSource(beside?.second ?? data, WORDS)
    }),
    [data, beside]
  );
  const sessions = useMemo(
    () => (second === null ? [first] : [first, second]),
    [first, second]
  );
  // A report of two sessions begins with both.
  const opening = second === null ? NOWHERE : BOTH;
  const { index, place, remark, isOpened, setPlace } = useAddressPlace(
    sessions,
    opening,
    WORDS
  );
  const side = index === 1 ? 'second' : 'first';
  const compared: IComparedView | null =
    beside === null
      ? null
      : {
          comparison: beside.comparison,
          side,
          takesFocus: isOpened,
          open: (to, at) => {
            setPlace(to === 'second' ? 1 : 0, { ...NOWHERE, ...at }, true);
          }
        };
  return (
    <Inspector
      key={side}
      source={sources[side]}
      place={place}
      remark={remark}
      isPrinted={isPrinted}
      isSteppedByPage
      onPlace={(next, isStep) => {
        setPlace(index, next, isStep);
      }}
      {...(compared === null ? {} : { compared })}
    />
  );
}
