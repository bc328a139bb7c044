-- SPDX-License-Identifier: Apache-2.0
-- One document of many pages: comments `<!-- page FILE -->` say where each begins. Headings get the name PAGE or PAGE--HEADING,
-- links between pages follow, and the list of contents becomes the variable `contents`.

local function page_of(file)
  local example = file:match("/examples/([^/]+)/README%.md$") -- it may be called like a page on the same subject
  local folder = file:match("([^/]+)/README%.md$") -- a folder's README is the folder's page
  return example and "example-" .. example or folder or file:match("([^/]+)%.md$"):lower()
end

-- As GitHub names headings, so that links with a fragment work there and here.
local function slug(text)
  return (text:lower():gsub("[^%w%-_ \128-\255]", ""):gsub(" ", "-"))
end

local function normal(path)
  local parts = {}
  for part in path:gmatch("[^/]+") do
    if part == ".." then
      if #parts == 0 then return nil end
      table.remove(parts)
    elseif part ~= "." then
      table.insert(parts, part)
    end
  end
  return table.concat(parts, "/")
end

local function escaped(text)
  return (text:gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"))
end

-- A picture as a part of the page.
local function picture(path)
  local stream = assert(io.open(path, "rb"))
  local text = stream:read("a")
  stream:close()
  return "data:image/svg+xml," .. text:gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end)
end

-- Files of the source tree that a page may link to. They are not in the manual, where such a link is text.
local source_only = {
  ["ARCHITECTURE.md"] = true,
  ["CITATION.cff"] = true,
  ["CONTRIBUTING.md"] = true,
  ["LICENSE"] = true,
  ["SECURITY.md"] = true,
}

-- On a phone each row of a table of three columns or more is a record: each value after the title of its column.
local function as_records(grid)
  if #grid.colspecs < 3 or #grid.head.rows == 0 then return nil end
  grid.attr.classes:insert("records")
  for _, body in ipairs(grid.bodies) do
    for _, row in ipairs(body.body) do
      for at, cell in ipairs(row.cells) do
        local title = grid.head.rows[1].cells[at]
        cell.attr.attributes["data-label"] = title and pandoc.utils.stringify(title.contents) or ""
      end
    end
  end
  return grid
end

function Pandoc(document)
  local pages = {}
  for _, block in ipairs(document.blocks) do
    local file = block.t == "RawBlock" and block.text:match("^<!%-%- page (.-) %-%->")
    if file then
      local name = page_of(file)
      if pages[name] then error("two pages are called " .. name) end
      pages[name] = file
    end
  end

  local contents, blocks = {}, {}
  local file, page, used, open = nil, nil, {}, false
  local function link_of(target)
    if target:match("^%a+:") then return target end
    local path, fragment = target:match("^([^#]*)#?(.*)$")
    local name = page
    if path ~= "" then
      local whole = normal((file:match("^(.*)/[^/]*$") or "") .. "/" .. path)
      if source_only[whole] or whole:match("%.svg$") or whole:match("%.yaml$") then return nil end
      name = whole and whole:match("%.md$") and page_of(whole)
      if not name or pages[name] ~= whole then
        error(file .. ": a link to " .. target .. ", which is no page")
      end
    end
    return "#" .. name .. (fragment ~= "" and "--" .. fragment or "")
  end

  for _, block in ipairs(document.blocks) do
    local text = block.t == "RawBlock" and block.text or ""
    local group, found = text:match("^<!%-%- group (.-) %-%->"), text:match("^<!%-%- page (.-) %-%->")
    if group then
      table.insert(contents, '<li class="group">' .. escaped(group) .. "</li>")
    elseif found then
      file, page, used = found, page_of(found), {}
      table.insert(blocks, pandoc.RawBlock("html", (open and "</article>" or "") .. '<article>'))
      open = true
    else
      if block.t == "Header" then
        local title = pandoc.utils.stringify(block)
        local id = page
        if next(used) then
          id = page .. "--" .. slug(title)
          local plain, number = id, 0
          while used[id] do
            number = number + 1
            id = plain .. "-" .. number
          end
        else
          table.insert(contents, '<li><a href="#' .. page .. '">' .. escaped(title) .. "</a></li>")
        end
        used[id] = true
        block.identifier = id
      end
      if block.t == "Table" then block = as_records(block) or block end
      table.insert(blocks, pandoc.walk_block(block, {
        Image = function(image)
          image.src = picture(normal((file:match("^(.*)/[^/]*$") or "") .. "/" .. image.src))
          return image
        end,
        Link = function(link)
          local target = link_of(link.target)
          if not target then return link.content end
          link.target = target
          return link
        end,
      }))
    end
  end
  if open then table.insert(blocks, pandoc.RawBlock("html", "</article>")) end
  document.blocks = blocks
  document.meta.contents = pandoc.MetaBlocks({ pandoc.RawBlock("html", "<ul>" .. table.concat(contents, "\n") .. "</ul>") })
  return document
end
