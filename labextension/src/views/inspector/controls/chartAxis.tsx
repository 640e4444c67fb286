/** The axis of values beside a chart, and the lines at its numbers. */
import { axisTicks } from '../../../state/inspector/figures/areaPaths';
import { shortCount } from '../../../state/text/numberFormat';

interface IChartAxisProps {
  /** The value at the top. */
  maxValue: number;
  /** The height of the plot, in CSS pixels. */
  height: number;
}

/** Draws the numbers beside a chart. */
export function AxisNumbers({
  maxValue,
  height,
  tickText = shortCount
}: IChartAxisProps & { tickText?: (value: number) => string }) {
  return (
    <div className="plm-Track-scale" aria-hidden="true">
      {axisTicks(maxValue).map(tick => (
        <span key={tick} style={{ top: height - (tick / maxValue) * height }}>
          {tickText(tick)}
        </span>
      ))}
    </div>
  );
}

/** Draws a line over the width of a chart at each of its numbers. */
export function AxisLines({
  maxValue,
  height,
  width
}: IChartAxisProps & { width: number }) {
  return axisTicks(maxValue).map(tick => (
    <line
      key={tick}
      className="plm-Track-grid"
      x2={width}
      y1={height - (tick / maxValue) * height}
      y2={height - (tick / maxValue) * height}
    />
  ));
}

/** Returns how a cost stands beside a chart: US dollars without their sign, units shortened. */
export function costTickText(unit: string): (value: number) => string {
  return unit === 'USD'
    ? value => String(Number(value.toPrecision(3)))
    : shortCount;
}
