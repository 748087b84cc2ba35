import { ActionIcon, Menu, Tooltip, useMantineColorScheme } from "@mantine/core";
import { IconDeviceDesktop, IconKeyboard, IconMoon, IconSun } from "@tabler/icons-react";
import { Link, Outlet, useNavigate, useRouterState } from "@tanstack/react-router";
import { useState } from "react";
import { newerThanKnown } from "../lib/urlState";
import { About } from "./About";
import { HelpSheet } from "./HelpSheet";
import { useGlobalKeys } from "./keyboard";
import { ServiceBanner } from "./ServiceBanner";
import classes from "./Shell.module.css";

function SchemeMenu() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const Icon = colorScheme === "dark" ? IconMoon : colorScheme === "light" ? IconSun : IconDeviceDesktop;
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon aria-label="Colour scheme">
          <Icon size={18} stroke={1.6} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconSun size={16} />} onClick={() => setColorScheme("light")}>
          Light
        </Menu.Item>
        <Menu.Item leftSection={<IconMoon size={16} />} onClick={() => setColorScheme("dark")}>
          Dark
        </Menu.Item>
        <Menu.Item leftSection={<IconDeviceDesktop size={16} />} onClick={() => setColorScheme("auto")}>
          As the system
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** Frame of every page. */
export function Shell() {
  const [help, setHelp] = useState(false);
  const navigate = useNavigate();
  const newer = useRouterState({ select: (state) => newerThanKnown(state.location.searchStr) });
  const inCaptures = useRouterState({
    select: (state) => state.location.pathname === "/" || state.location.pathname.startsWith("/captures"),
  });
  useGlobalKeys({
    goCaptures: () => void navigate({ to: "/" }),
    goAgents: () => void navigate({ to: "/agents" }),
    goSql: () => void navigate({ to: "/sql" }),
    toggleHelp: () => setHelp((open) => !open),
  });
  return (
    <div className={classes.shell}>
      <a className={classes.skip} href="#main">
        Skip to content
      </a>
      <header className={classes.bar}>
        <Link to="/" className={classes.brand} aria-label="rocelens, captures">
          <img src="/icon.svg" alt="" width={24} height={24} />
          <span>rocelens</span>
        </Link>
        <nav className={classes.nav} aria-label="Main">
          <Link to="/" className={classes.link} data-active={inCaptures || undefined}>
            Captures
          </Link>
          <Link to="/agents" className={classes.link} activeProps={{ "data-active": true }}>
            Agents
          </Link>
          <Link to="/sql" className={classes.link} activeProps={{ "data-active": true }}>
            SQL
          </Link>
          <a href="/api/docs" className={classes.link}>
            API
          </a>
        </nav>
        <div className={classes.tools}>
          <About />
          <Tooltip label="Keyboard (?)">
            <ActionIcon aria-label="Keyboard help" className={classes.keyboard} onClick={() => setHelp(true)}>
              <IconKeyboard size={18} stroke={1.6} />
            </ActionIcon>
          </Tooltip>
          <SchemeMenu />
        </div>
      </header>
      <ServiceBanner />
      {newer && (
        <div className={classes.note} role="status">
          This link was made by a later version of the console; parts of it may not be shown.
        </div>
      )}
      <main id="main" className={classes.main}>
        <Outlet />
      </main>
      <HelpSheet opened={help} onClose={() => setHelp(false)} />
    </div>
  );
}
